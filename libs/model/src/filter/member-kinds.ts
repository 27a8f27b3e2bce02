import type { AclPolicy } from '../acl/acl-policy.js';
import type { AclRole } from '../acl/acl-role.js';
import type { AclToken } from '../acl/acl-token.js';
import type { BindingRule } from '../acl/binding-rule.js';
import type { MappedClaims } from '../acl/mapped-claims.js';
import type { Allocation } from '../evaluations/allocation.js';
import type { CSIPlugin } from '../volumes/csi-plugin.js';
import type { Deployment } from '../evaluations/deployment.js';
import type { WireCSIVolume } from '../encoding/encode-csi-volume.js';
import type { Evaluation } from '../evaluations/evaluation.js';
import type { HostVolume } from '../volumes/host-volume.js';
import type { Job } from '../jobs/job.js';
import type { Namespace } from '../namespaces/namespace.js';
import type { NodePool } from '../nodes/node-pool.js';
import type { Node } from '../nodes/node.js';
import type { ServiceRegistration } from '../jobs/service.js';

/** The objects that filters of lists read, and the claims that selectors of binding rules read. */
type Filtered =
  | Job
  | Allocation
  | Evaluation
  | Deployment
  | Node
  | NodePool
  | Namespace
  | ServiceRegistration
  | WireCSIVolume
  | CSIPlugin
  | HostVolume
  | AclToken
  | AclPolicy
  | AclRole
  | BindingRule
  | MappedClaims;

type IsMap<T> = T extends readonly unknown[]
  ? false
  : T extends object
    ? string extends keyof T
      ? true
      : false
    : false;
type IsList<T> = T extends readonly unknown[] ? true : false;

/** Names of members, at any depth, whose value is a map or a list. */
type MapMember<T> = T extends readonly (infer U)[]
  ? MapMember<U>
  : T extends object
    ? string extends keyof T
      ? MapMember<T[string]>
      : { [K in keyof T & string]: (true extends IsMap<T[K]> ? K : never) | MapMember<T[K]> }[keyof T & string]
    : never;

type ListMember<T> = T extends readonly (infer U)[]
  ? ListMember<U>
  : T extends object
    ? string extends keyof T
      ? ListMember<T[string]>
      : { [K in keyof T & string]: (true extends IsList<T[K]> ? K : never) | ListMember<T[K]> }[keyof T & string]
    : never;

/**
 * An object in memory does not tell whether a member belongs to a map or to a structure, or which type null stands for.
 * Its name does: a name of a map or list anywhere in the domain types is a map or list wherever it holds an object or
 * null. The compiler compares both tables with the domain types, so no new member can be forgotten.
 */
const MAPS: { readonly [K in MapMember<Filtered>]: true } = {
  Args: true,
  Attributes: true,
  CSIControllerPlugins: true,
  CSINodePlugins: true,
  CanaryMeta: true,
  ClassEligibility: true,
  ClassExhausted: true,
  ClassFiltered: true,
  Config: true,
  Connect: true,
  ConstraintFiltered: true,
  Context: true,
  ControllerJobs: true,
  Controllers: true,
  DesiredTGUpdates: true,
  Details: true,
  DimensionExhausted: true,
  Drivers: true,
  Env: true,
  FailedTGAllocs: true,
  GetterHeaders: true,
  GetterOptions: true,
  Header: true,
  HostNetworks: true,
  HostVolumes: true,
  Links: true,
  Locality: true,
  Meta: true,
  NodeJobs: true,
  Nodes: true,
  NodesAvailable: true,
  OptionalExtraClaims: true,
  Parameters: true,
  Policy: true,
  QueuedAllocations: true,
  ReadAllocs: true,
  RequiredExtraClaims: true,
  ResourcesExhausted: true,
  Scores: true,
  Segments: true,
  TaggedAddresses: true,
  Target: true,
  TaskGroups: true,
  TaskLifecycles: true,
  TaskResources: true,
  TaskStates: true,
  Tasks: true,
  Topology: true,
  Volumes: true,
  WriteAllocs: true,
  list: true,
  value: true,
};

const LISTS: { readonly [K in ListMember<Filtered>]: true } = {
  Actions: true,
  Addresses: true,
  Affinities: true,
  AllocStates: true,
  Allocations: true,
  Args: true,
  Artifacts: true,
  Audience: true,
  CanaryTags: true,
  Checks: true,
  Constraints: true,
  Datacenters: true,
  DeviceIDs: true,
  Devices: true,
  DisabledNetworkModes: true,
  DisabledTaskDrivers: true,
  DynamicPorts: true,
  EnabledNetworkModes: true,
  EnabledTaskDrivers: true,
  Events: true,
  ExtraClaims: true,
  Identities: true,
  Instances: true,
  Links: true,
  MetaOptional: true,
  MetaRequired: true,
  MissingNonNodeResources: true,
  MountFlags: true,
  Networks: true,
  NodeNetworks: true,
  Options: true,
  PlacedCanaries: true,
  Policies: true,
  Ports: true,
  Preferred: true,
  PreemptedAllocations: true,
  PreemptedAllocs: true,
  QuotaExhausted: true,
  Regions: true,
  RelatedEvals: true,
  RequestedCapabilities: true,
  Required: true,
  ReservableCpuCores: true,
  ReservedCores: true,
  ReservedCpuCores: true,
  ReservedPorts: true,
  Roles: true,
  ScalingPolicies: true,
  ScoreMetaData: true,
  Searches: true,
  Secrets: true,
  Servers: true,
  Services: true,
  Specs: true,
  SpreadTarget: true,
  Spreads: true,
  Tags: true,
  TaskGroups: true,
  Tasks: true,
  Templates: true,
  Topologies: true,
  VolumeMounts: true,
};

/** Maps with arbitrary JSON. Every object below them counts as a map, too. */
const FREEFORM: ReadonlySet<string> = new Set(['Attributes', 'Config', 'Connect', 'Locality', 'Policy', 'Topology']);

/** Secret members. Filters treat them as unknown, because otherwise a caller could guess them letter by letter. */
const HIDDEN: ReadonlySet<string> = new Set([
  'SecretID',
  'LeaderACL',
  'SecretHash',
  'SealedSecret',
  'OneTimeSecretHash',
  'SealedClientSecret',
  'SealedPemKey',
]);

/** Numbers with a fraction. All other numbers are integers. */
const FLOATS: ReadonlySet<string> = new Set(['NormScore']);

export const isMapMember = (name: string): boolean => Object.hasOwn(MAPS, name);
export const isListMember = (name: string): boolean => Object.hasOwn(LISTS, name);
export const isFreeform = (name: string): boolean => FREEFORM.has(name);
export const isHidden = (name: string, value: unknown): boolean =>
  HIDDEN.has(name) || (name === 'Secrets' && !Array.isArray(value));
export const isFloatMember = (name: string): boolean => FLOATS.has(name);
