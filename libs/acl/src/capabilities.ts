/**
 * Names of everything that a policy can allow, and the levels that stand for several of them (operator.md section 7.3).
 * `deny` is no capability: it takes capabilities away.
 */

const NAMESPACE_READ = [
  'list-jobs',
  'parse-job',
  'read-job',
  'csi-list-volume',
  'csi-read-volume',
  'read-job-scaling',
  'list-scaling-policies',
  'read-scaling-policy',
  'host-volume-read',
] as const;

const NAMESPACE_WRITE = [
  ...NAMESPACE_READ,
  'scale-job',
  'submit-job',
  'dispatch-job',
  'read-logs',
  'read-fs',
  'alloc-exec',
  'alloc-lifecycle',
  'csi-mount-volume',
  'csi-write-volume',
  'submit-recommendation',
  'host-volume-create',
] as const;

const NAMESPACE_SCALE = [
  'list-scaling-policies',
  'read-scaling-policy',
  'read-job-scaling',
  'scale-job',
  'read-job',
  'submit-recommendation',
] as const;

export const NAMESPACE_CAPABILITIES = [
  ...NAMESPACE_WRITE,
  'alloc-node-exec',
  'sentinel-override',
  'csi-register-plugin',
  'host-volume-register',
  'host-volume-write',
  'host-volume-delete',
  'register-job',
  'revert-job',
  'deregister-job',
  'purge-job',
  'evaluate-job',
  'plan-job',
  'tag-job-version',
  'stable-job',
  'fail-deployment',
  'pause-deployment',
  'promote-deployment',
  'unblock-deployment',
  'cancel-deployment',
  'set-alloc-health-deployment',
  'gc-allocation',
  'pause-allocation',
  'force-periodic-job',
  'delete-service-registration',
] as const;
export type NamespaceCapability = (typeof NAMESPACE_CAPABILITIES)[number];

export const NODE_POOL_CAPABILITIES = ['delete', 'read', 'write'] as const;
export type NodePoolCapability = (typeof NODE_POOL_CAPABILITIES)[number];

export const HOST_VOLUME_CAPABILITIES = ['mount-readonly', 'mount-readwrite'] as const;
export type HostVolumeCapability = (typeof HOST_VOLUME_CAPABILITIES)[number];

export const OPERATOR_CAPABILITIES = [
  'snapshot-save',
  'license-read',
  'keyring-rotate',
  'keyring-read',
  'keyring-delete',
] as const;
export type OperatorCapability = (typeof OPERATOR_CAPABILITIES)[number];

/** These capabilities are checked when a policy is written. They guard nothing. */
export const SENTINEL_CAPABILITIES = ['sentinel-read', 'sentinel-submit', 'sentinel-delete'] as const;
export type SentinelCapability = (typeof SENTINEL_CAPABILITIES)[number];

export const VARIABLE_CAPABILITIES = ['list', 'read', 'write', 'destroy'] as const;
export type VariableCapability = (typeof VARIABLE_CAPABILITIES)[number];

/** OrDeny is an element of a list of capabilities. */
export type OrDeny<Capability extends string> = Capability | 'deny';

/** The values of `policy` in every block except `plugin`. `scale` grants something only in a namespace. */
export const POLICY_LEVELS = ['deny', 'read', 'write', 'scale'] as const;
export type PolicyLevel = (typeof POLICY_LEVELS)[number];

/** The values of `policy` in the block `plugin` (OP-128). */
export const PLUGIN_LEVELS = ['deny', 'read', 'list', 'write'] as const;
export type PluginLevel = (typeof PLUGIN_LEVELS)[number];

/** Shorthands lists the capabilities that each level of a block stands for. */
export type Shorthands<Capability extends string> = Readonly<Record<PolicyLevel, readonly OrDeny<Capability>[]>>;

export const NAMESPACE_SHORTHANDS: Shorthands<NamespaceCapability> = {
  deny: ['deny'],
  read: NAMESPACE_READ,
  write: NAMESPACE_WRITE,
  scale: NAMESPACE_SCALE,
};

export const NODE_POOL_SHORTHANDS: Shorthands<NodePoolCapability> = {
  deny: ['deny'],
  read: ['read'],
  write: ['delete', 'read', 'write'],
  scale: [],
};

export const HOST_VOLUME_SHORTHANDS: Shorthands<HostVolumeCapability> = {
  deny: ['deny'],
  read: ['mount-readonly'],
  write: ['mount-readonly', 'mount-readwrite'],
  scale: [],
};

export const OPERATOR_SHORTHANDS: Shorthands<OperatorCapability> = {
  deny: ['deny'],
  read: ['license-read', 'keyring-read'],
  write: ['snapshot-save', 'license-read', 'keyring-rotate', 'keyring-read', 'keyring-delete'],
  scale: [],
};

export const SENTINEL_SHORTHANDS: Shorthands<SentinelCapability> = {
  deny: ['deny'],
  read: ['sentinel-read'],
  write: ['sentinel-read', 'sentinel-submit', 'sentinel-delete'],
  scale: [],
};

/**
 * The capabilities that each capability implies. The lists are complete: implied capabilities imply nothing further
 * (OP-121).
 */
export const IMPLIED_NAMESPACE_CAPABILITIES: Readonly<
  Partial<Record<OrDeny<NamespaceCapability>, readonly NamespaceCapability[]>>
> = {
  'host-volume-write': ['host-volume-register', 'host-volume-create', 'host-volume-delete', 'host-volume-read'],
  'host-volume-register': ['host-volume-create', 'host-volume-read'],
  'host-volume-create': ['host-volume-read'],
};

export const IMPLIED_VARIABLE_CAPABILITIES: Readonly<
  Partial<Record<OrDeny<VariableCapability>, readonly VariableCapability[]>>
> = { read: ['list'] };
