import { createHash } from 'node:crypto';
import type { TxnDraft, TxnPayloads, TxnType } from '@waybill/state';

/** The stream that holds the log, and the prefix of all its subjects. */
export const TXN_STREAM = 'TXN';
/** Subject of the transactions that begin a history: the log's first transaction, and restores. */
export const SYSTEM_SUBJECT = `${TXN_STREAM}.system`;
/** Longest escaped token; longer ones are hashed, so that a subject stays below NATS' 4 KB line limit. */
export const MAX_TOKEN_CHARS = 128;

const PLAIN = /^[A-Za-z0-9_-]{1,128}$/;
const isPlainByte = (b: number): boolean =>
  (b >= 48 && b <= 57) || (b >= 65 && b <= 90) || (b >= 97 && b <= 122) || b === 45 || b === 95;

/**
 * Turns any name into one subject token. Different names give different tokens: letters, digits, `-` and `_` stay,
 * every other byte of the UTF-8 form becomes `=XX`, the empty name is `=`, a long one `=h` and its SHA-256.
 */
export function subjectToken(name: string): string {
  if (PLAIN.test(name)) return name;
  if (name === '') return '=';
  let token = '';
  for (const byte of Buffer.from(name, 'utf8')) {
    token += isPlainByte(byte) ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    if (token.length > MAX_TOKEN_CHARS) return `=h${createHash('sha256').update(name, 'utf8').digest('hex')}`;
  }
  return token;
}

/** Guard subject of a job: every write of this job, and nothing else, is on it. */
export const jobSubject = (namespace: string, jobId: string): string =>
  `${TXN_STREAM}.job.${subjectToken(namespace)}.${subjectToken(jobId)}`;
export const nodeSubject = (nodeId: string): string => `${TXN_STREAM}.node.${subjectToken(nodeId)}`;
export const deploymentSubject = (deploymentId: string): string =>
  `${TXN_STREAM}.deployment.${subjectToken(deploymentId)}`;
/** Guard subject of a CSI volume's claims. */
export const volumeSubject = (namespace: string, volumeId: string): string =>
  `${TXN_STREAM}.volume.${subjectToken(namespace)}.${subjectToken(volumeId)}`;
/** Guard subject of a variable: every write of this variable, and nothing else, is on it. */
export const variableSubject = (namespace: string, path: string): string =>
  `${TXN_STREAM}.variable.${subjectToken(namespace)}.${subjectToken(path)}`;
export const leaseSubject = (role: string): string => `${TXN_STREAM}.lease.${subjectToken(role)}`;

/**
 * Second tokens of the subjects of the log, but for leases, which only the contenders for a role write, and for the
 * transactions that begin a history.
 */
export const TXN_DOMAINS: readonly string[] = [
  'acl_auth_method',
  'acl_binding_rule',
  'acl_policy',
  'acl_role',
  'acl_token',
  'alloc',
  'cluster',
  'deployment',
  'deployment_purge',
  'eval',
  'host_volume',
  'ignore',
  'job',
  'job_purge',
  'job_summary',
  'namespace',
  'node',
  'node_drains',
  'node_events',
  'node_introduction',
  'node_pool',
  'node_purge',
  'one_time_token',
  'plan',
  'plugin',
  'root_key',
  'scheduler_config',
  'service',
  'variable',
  'volume',
];

/** Types that write one aggregate use its exact subject; types that write many use their domain's. */
const SUBJECTS: { readonly [T in TxnType]: (payload: TxnPayloads[T], namespace: string) => string } = {
  NodeRegister: (p) => nodeSubject(p.Node.ID),
  NodeDeregister: (p) => nodeSubject(p.NodeID),
  NodeBatchDeregister: () => `${TXN_STREAM}.node_purge`,
  NodeUpdateStatus: (p) => nodeSubject(p.NodeID),
  NodeUpdateDrain: (p) => nodeSubject(p.NodeID),
  NodeUpdateEligibility: (p) => nodeSubject(p.NodeID),
  BatchNodeUpdateDrain: () => `${TXN_STREAM}.node_drains`,
  UpsertNodeEvents: () => `${TXN_STREAM}.node_events`,
  NodePoolUpsert: () => `${TXN_STREAM}.node_pool`,
  NodePoolDelete: () => `${TXN_STREAM}.node_pool`,
  JobRegister: (p, namespace) => jobSubject(namespace, p.Job.ID),
  JobDeregister: (p, namespace) => jobSubject(namespace, p.JobID),
  JobBatchDeregister: () => `${TXN_STREAM}.job_purge`,
  ReconcileJobSummaries: () => `${TXN_STREAM}.job_summary`,
  EvalUpdate: () => `${TXN_STREAM}.eval`,
  EvalDelete: () => `${TXN_STREAM}.eval`,
  AllocClientUpdate: () => `${TXN_STREAM}.alloc`,
  AllocUpdateDesiredTransition: () => `${TXN_STREAM}.alloc`,
  ApplyPlanResults: () => `${TXN_STREAM}.plan`,
  DeploymentStatusUpdate: (p) => deploymentSubject(p.Update.DeploymentID),
  DeploymentDelete: () => `${TXN_STREAM}.deployment_purge`,
  DeploymentPromote: (p) => deploymentSubject(p.DeploymentID),
  DeploymentAllocHealth: (p) => deploymentSubject(p.DeploymentID),
  JobStability: (p, namespace) => jobSubject(namespace, p.JobID),
  JobVersionTag: (p, namespace) => jobSubject(namespace, p.JobID),
  ScalingEventRegister: (p, namespace) => jobSubject(namespace, p.JobID),
  NamespaceUpsert: () => `${TXN_STREAM}.namespace`,
  NamespaceDelete: () => `${TXN_STREAM}.namespace`,
  CSIVolumeRegister: () => `${TXN_STREAM}.volume`,
  CSIVolumeDeregister: () => `${TXN_STREAM}.volume`,
  CSIVolumeClaim: (p, namespace) => volumeSubject(namespace, p.VolumeID),
  CSIVolumeClaimBatch: () => `${TXN_STREAM}.volume`,
  CSIPluginDelete: () => `${TXN_STREAM}.plugin`,
  HostVolumeRegister: () => `${TXN_STREAM}.host_volume`,
  HostVolumeDelete: () => `${TXN_STREAM}.host_volume`,
  TaskGroupHostVolumeClaimDelete: () => `${TXN_STREAM}.host_volume`,
  ServiceRegistrationUpsert: () => `${TXN_STREAM}.service`,
  ServiceRegistrationDeleteByID: () => `${TXN_STREAM}.service`,
  ServiceRegistrationDeleteByNodeID: () => `${TXN_STREAM}.service`,
  SchedulerConfig: () => `${TXN_STREAM}.scheduler_config`,
  ClusterMetadata: () => `${TXN_STREAM}.cluster`,
  ACLPolicyUpsert: () => `${TXN_STREAM}.acl_policy`,
  ACLPolicyDelete: () => `${TXN_STREAM}.acl_policy`,
  ACLTokenUpsert: () => `${TXN_STREAM}.acl_token`,
  ACLTokenDelete: () => `${TXN_STREAM}.acl_token`,
  ACLTokenRekey: () => `${TXN_STREAM}.acl_token`,
  ACLTokenBootstrap: () => `${TXN_STREAM}.acl_token`,
  ACLRolesUpsert: () => `${TXN_STREAM}.acl_role`,
  ACLRolesDelete: () => `${TXN_STREAM}.acl_role`,
  OneTimeTokenUpsert: () => `${TXN_STREAM}.one_time_token`,
  OneTimeTokenDelete: () => `${TXN_STREAM}.one_time_token`,
  OneTimeTokenExpire: () => `${TXN_STREAM}.one_time_token`,
  // One subject for all methods, because the decision which of them is the default depends on all of them.
  ACLAuthMethodUpsert: () => `${TXN_STREAM}.acl_auth_method`,
  ACLAuthMethodDelete: () => `${TXN_STREAM}.acl_auth_method`,
  ACLBindingRuleUpsert: () => `${TXN_STREAM}.acl_binding_rule`,
  ACLBindingRuleDelete: () => `${TXN_STREAM}.acl_binding_rule`,
  // One subject for all keys, because the decision which of them is active depends on all of them.
  RootKeyUpsert: () => `${TXN_STREAM}.root_key`,
  RootKeyDelete: () => `${TXN_STREAM}.root_key`,
  NodeIntroduction: () => `${TXN_STREAM}.node_introduction`,
  RootKeyRewrap: () => `${TXN_STREAM}.root_key`,
  VarApplyState: (p, namespace) => variableSubject(namespace, p.Path),
  LeaseAcquired: (p) => leaseSubject(p.Role),
  StateRestore: () => SYSTEM_SUBJECT,
  HistoryRedact: () => SYSTEM_SUBJECT,
  HistoryErase: () => SYSTEM_SUBJECT,
  Initialise: () => SYSTEM_SUBJECT,
  Ignore: () => `${TXN_STREAM}.ignore`,
};

/** The subject on which the transaction is published. */
export function subjectOf<T extends TxnType>(draft: Pick<TxnDraft<T>, 'type' | 'payload' | 'namespace'>): string {
  return SUBJECTS[draft.type](draft.payload, draft.namespace);
}
