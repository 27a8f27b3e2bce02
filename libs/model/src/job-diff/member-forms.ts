/** How a member of a job's part is compared; what is not named here goes by its value (see `diffMembers`). */

/** Entries become fields of the object that has them: `Meta[k]`; lists whose order matters too: `Args[0]`. */
export const IN_PLACE: ReadonlySet<string> = new Set([
  'Meta',
  'Env',
  'CanaryMeta',
  'TaggedAddresses',
  'Header',
  'GetterOptions',
  'GetterHeaders',
  'Target',
  'Args',
]);

/** Arbitrary JSON: one object whose entries, at any depth, are its fields. */
export const FREEFORM: ReadonlySet<string> = new Set(['Config', 'Policy', 'Connect']);

export interface ListForm {
  /** Of one entry. */
  readonly name: string;
  /** Member by which an entry before is the same entry after; none: an entry that changed is another one. */
  readonly identity?: string;
}

/** Lists and maps of objects. */
export const LISTS: Readonly<Record<string, ListForm>> = {
  Constraints: { name: 'Constraint' },
  Affinities: { name: 'Affinity' },
  Spreads: { name: 'Spread', identity: 'Attribute' },
  SpreadTarget: { name: 'SpreadTarget', identity: 'Value' },
  Services: { name: 'Service', identity: 'Name' },
  Checks: { name: 'Check', identity: 'Name' },
  Networks: { name: 'Network' },
  ReservedPorts: { name: 'Static Port' },
  DynamicPorts: { name: 'Dynamic Port' },
  Volumes: { name: 'Volume', identity: 'Name' },
  VolumeMounts: { name: 'VolumeMount' },
  Templates: { name: 'Template', identity: 'DestPath' },
  Artifacts: { name: 'Artifact' },
  Devices: { name: 'Device', identity: 'Name' },
  Identities: { name: 'Identity', identity: 'Name' },
  Secrets: { name: 'Secret', identity: 'Name' },
  Actions: { name: 'Action', identity: 'Name' },
  ScalingPolicies: { name: 'Scaling', identity: 'Type' },
  Regions: { name: 'Region', identity: 'Name' },
  Links: { name: 'Link' },
};

/** What the server keeps in scaling policies is no part of a specification. */
const SERVER_KEPT = new Set(['ID', 'CreateIndex', 'ModifyIndex']);
const NOTHING: ReadonlySet<string> = new Set();

/** Members of the entries of `name` that are never compared. */
export const skippedIn = (name: string): ReadonlySet<string> => (name === 'Scaling' ? SERVER_KEPT : NOTHING);
