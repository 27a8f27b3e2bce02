/**
 * How each member of a part of a job is compared. A member that is not listed here is compared by its value (see
 * `diffMembers`).
 */

/** Members whose entries become fields of their object, such as `Meta[k]`, and ordered lists, such as `Args[0]`. */
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

/** Members with arbitrary JSON. Each is one object, and its entries at any depth are the fields. */
export const FREEFORM: ReadonlySet<string> = new Set(['Config', 'Policy', 'Connect']);

export interface ListForm {
  /** Name of one entry. */
  readonly name: string;
  /** Member that identifies an entry on both sides. Without it, a changed entry counts as removed and added. */
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

/** Members of scaling policies that the server maintains. They are not part of a specification. */
const SERVER_KEPT = new Set(['ID', 'CreateIndex', 'ModifyIndex']);
const NOTHING: ReadonlySet<string> = new Set();

/** Returns the members of the entries of `name` that are never compared. */
export const skippedIn = (name: string): ReadonlySet<string> => (name === 'Scaling' ? SERVER_KEPT : NOTHING);
