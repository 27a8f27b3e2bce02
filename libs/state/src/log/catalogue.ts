import type {
  AclPolicySpecification,
  AclRoleSpecification,
  AclTokenSpecification,
  AuthMethodSpecification,
  BindingRuleSpecification,
  Allocation,
  ClientAllocUpdate,
  CSIVolumeClaim,
  CSIVolumeRegistration,
  Deployment,
  DeploymentStatusUpdate,
  DesiredTransition,
  DrainStrategy,
  Evaluation,
  GroupScalingEvent,
  HostVolume,
  Job,
  JobSubmission,
  JobVersionTag,
  Node,
  NodeEvent,
  SchedulingEligibility,
  NamespaceSpecification,
  NodePoolSpecification,
  NodeStatus,
  OneTimeTokenSpecification,
  NodeIntroductionSpecification,
  RootKeySpecification,
  AllocPreemptionDiff,
  SchedulerConfiguration,
  ServiceRegistration,
  TaskGroupHostVolumeClaim,
  AllocStopDiff,
  VariableLockRequest,
  WrappedRootKey,
} from '@waybill/model';
import type { Role } from './role.js';
import type { ArchivedTables } from '../archive/state-archive.js';
import type { RedactedText } from '../history/redacted-text.js';

/** The secret of a token as another key of the cluster stores it. */
export interface RekeyedToken {
  readonly AccessorID: string;
  /** The stored hash. A token that has another one by now is left alone. */
  readonly FormerHash: string;
  readonly SecretHash: string;
  readonly SealedSecret: string;
}

/**
 * The catalogue of transactions: the payload of each type. It has one entry for each type of
 * docs/reference/state-and-events.md section 3; `TXN_TYPES` below gives each its number and event type. A type without
 * an applier, or the other way round, does not compile (see state-machine.ts).
 */
export interface TxnPayloads {
  // 3.1 nodes
  NodeRegister: { Node: Node; CreateNodePool: boolean };
  NodeDeregister: { NodeID: string };
  NodeBatchDeregister: {
    NodeIDs: string[];
    /** Index of the snapshot that the deletion was computed from (ST-16). */
    ScanIndex: number;
  };
  NodeUpdateStatus: {
    NodeID: string;
    Status: NodeStatus;
    /** Unix seconds. */
    UpdatedAt: number;
    NodeEvent: NodeEvent | null;
    IdentitySigningKeyID: string;
  };
  NodeUpdateDrain: {
    NodeID: string;
    DrainStrategy: DrainStrategy | null;
    MarkEligible: boolean;
    NodeEvent: NodeEvent | null;
    /** Unix seconds. */
    UpdatedAt: number;
    Meta: Record<string, string>;
    UpdatedBy: string;
  };
  NodeUpdateEligibility: {
    NodeID: string;
    Eligibility: SchedulingEligibility;
    NodeEvent: NodeEvent | null;
    /** Unix seconds. */
    UpdatedAt: number;
  };
  UpsertNodeEvents: { NodeEvents: Record<string, NodeEvent[]> };
  /** Drains that are complete, by node. */
  BatchNodeUpdateDrain: {
    /** `StartedAt` of the completed drain: a drain that has begun since continues (DR-93, DR-99). */
    Updates: Record<string, { DrainStrategy: null; MarkEligible: boolean; StartedAt: string | null }>;
    NodeEvents: Record<string, NodeEvent>;
    /** Unix seconds. */
    UpdatedAt: number;
  };
  NodePoolUpsert: { NodePools: NodePoolSpecification[] };
  NodePoolDelete: { Names: string[] };

  // 3.2 jobs
  JobRegister: {
    Job: Job;
    Submission: JobSubmission | null;
    EnforceIndex: boolean;
    JobModifyIndex: number;
    PreserveCounts: boolean;
    PreserveResources: boolean;
    Eval: Evaluation | null;
    /** The deployment of a multiregion job (ST-61). Its job fields are filled in where it is applied. Absent: none. */
    Deployment?: Deployment;
    /** Version whose submission the new one inherits, or null (ST-58). */
    SubmissionFrom: number | null;
    /** Number of untagged version rows to keep (ST-84). */
    TrackedVersions: number;
    /** The scaling request that makes the new version; absent: it is no scaling. */
    Scaling?: GroupScalingEvent | null;
  };
  JobDeregister: {
    JobID: string;
    Purge: boolean;
    NoShutdownDelay: boolean;
    /** Unix ns; 0: unchanged. */
    SubmitTime: number;
    Eval: Evaluation | null;
    TrackedVersions: number;
  };
  /** Purges jobs that garbage collection found to be over (ST-68). */
  JobBatchDeregister: {
    Jobs: { Namespace: string; ID: string }[];
    /** Index of the snapshot that the deletion was computed from (ST-16). */
    ScanIndex: number;
  };
  /** `Queued` by group, of the jobs in which it has changed (ST-83). */
  ReconcileJobSummaries: { Queued: { Namespace: string; JobID: string; Groups: Record<string, number> }[] };

  // 3.3 evaluations, allocations, plans, deployments
  EvalUpdate: { Evals: Evaluation[] };
  EvalDelete: {
    EvalIDs: string[];
    AllocIDs: string[];
    /** Index of the snapshot that the deletion was computed from (ST-16). */
    ScanIndex: number;
    UserInitiated: boolean;
    /**
     * A filter expression instead of IDs (ST-98); the next fields have the page's size, its beginning, and the
     * namespace.
     */
    Filter?: string;
    PerPage?: number;
    /** `<CreateIndex>.<ID>`, "" from the beginning. */
    NextToken?: string;
    /** "" or absent: all namespaces. */
    Namespace?: string;
    /** Written before schema version 3: deletes parts of a batch job, whose next evaluation repeats the work. */
    PartsOfJobs?: boolean;
  };
  AllocClientUpdate: {
    Allocs: ClientAllocUpdate[];
    Evals: Evaluation[];
    /**
     * By node ID, the index that the node's update follows: that of its last update of allocations, its first
     * registration, or a restore. The update of a node that is missing here is always accepted (ND-223).
     */
    After?: Record<string, number>;
  };
  AllocUpdateDesiredTransition: { Transitions: Record<string, DesiredTransition>; Evals: Evaluation[] };
  ApplyPlanResults: {
    Job: Job | null;
    AllocsUpdated: Allocation[];
    AllocsStopped: AllocStopDiff[];
    AllocsPreempted: AllocPreemptionDiff[];
    Deployment: Deployment | null;
    DeploymentUpdates: DeploymentStatusUpdate[];
    EvalID: string;
    PreemptionEvals: Evaluation[];
    FollowupEvals: Evaluation[];
    IneligibleNodes: string[];
    /** Claims of new allocations on sticky host volumes (ST-122); absent: none. */
    VolumeClaims?: TaskGroupHostVolumeClaim[];
    /** Unix ns. */
    UpdatedAt: number;
  };
  DeploymentStatusUpdate: {
    Update: DeploymentStatusUpdate;
    /** Unix ns. */
    UpdatedAt: number;
    Eval: Evaluation | null;
    Job: Job | null;
    RevertSuffix: string;
    /** Version whose submission the reverted job inherits (ST-58); absent or null: none. */
    SubmissionFrom?: number | null;
    TrackedVersions: number;
  };
  DeploymentDelete: {
    DeploymentIDs: string[];
    /** Index of the snapshot that the deletion was computed from (ST-16). */
    ScanIndex: number;
  };
  DeploymentPromote: {
    DeploymentID: string;
    /** All groups; else those of `Groups`, in which unknown ones are ignored (DP-850). */
    All: boolean;
    Groups: string[];
    /** Unix ns. */
    PromotedAt: number;
    Eval: Evaluation | null;
  };
  DeploymentAllocHealth: {
    DeploymentID: string;
    HealthyAllocationIDs: string[];
    UnhealthyAllocationIDs: string[];
    /** When the health was decided, unix ns. */
    Timestamp: number;
    DeploymentUpdate: DeploymentStatusUpdate | null;
    Eval: Evaluation | null;
    /** The version that the failure reverts to, as in DeploymentStatusUpdate. */
    Job: Job | null;
    RevertSuffix: string;
    SubmissionFrom: number | null;
    TrackedVersions: number;
  };
  /** The job's namespace is the envelope's. */
  JobStability: { JobID: string; JobVersion: number; Stable: boolean };
  /**
   * The job's namespace is the envelope's. `Latest`: the current version, regardless of `Version`; no `Tag`: removes
   * the tag.
   */
  JobVersionTag: {
    JobID: string;
    Version: number;
    Latest: boolean;
    Name: string;
    Tag: JobVersionTag | null;
    TrackedVersions: number;
  };
  /** The job's namespace is the envelope's. */
  ScalingEventRegister: GroupScalingEvent & { JobID: string };

  // 3.4 volumes
  /** All or none. Claims, modes and times are kept or set where it is applied. */
  CSIVolumeRegister: { Volumes: CSIVolumeRegistration[] };
  /** All or none. The volumes' namespace is the envelope's. */
  CSIVolumeDeregister: { VolumeIDs: string[]; Force: boolean };
  /** The volume's namespace is the envelope's. A claim without allocation only wakes the volume's watcher (VL-90). */
  CSIVolumeClaim: {
    VolumeID: string;
    Claim: CSIVolumeClaim;
    /** Index of the state that the writer decided on (VL-308); absent: whatever the state was. */
    AsOf?: number;
  };
  /** All or none. */
  CSIVolumeClaimBatch: { Claims: { Namespace: string; VolumeID: string; Claim: CSIVolumeClaim }[] };
  CSIPluginDelete: { ID: string };
  HostVolumeRegister: { Volume: HostVolume };
  /** The volume's namespace is the envelope's. */
  HostVolumeDelete: { ID: string };
  /** The claim's namespace is the envelope's. */
  TaskGroupHostVolumeClaimDelete: { ID: string };

  // 3.4 services
  /** The state machine sets the indexes of the rows. */
  ServiceRegistrationUpsert: { Services: ServiceRegistration[] };
  ServiceRegistrationDeleteByID: { Namespace: string; ID: string };
  ServiceRegistrationDeleteByNodeID: { NodeID: string };

  // 3.5 configuration
  NamespaceUpsert: { Namespaces: NamespaceSpecification[] };
  NamespaceDelete: { Names: string[] };
  SchedulerConfig: { Config: SchedulerConfiguration; CAS: boolean; ModifyIndex: number };
  ClusterMetadata: { ClusterID: string; CreateTime: number };

  // 3.5 access control; a payload contains no secret, only its hash and its sealed form
  ACLPolicyUpsert: { Policies: AclPolicySpecification[] };
  ACLPolicyDelete: { Names: string[] };
  /**
   * All or none. A token with a `SecretHash` is created; one without it updates the token of its accessor, whose
   * secret, times, lifetime and `Global` stay (OP-150).
   */
  ACLTokenUpsert: { Tokens: AclTokenSpecification[] };
  ACLTokenDelete: {
    AccessorIDs: string[];
    /** For a collection, RFC 3339: missing tokens, and those that had not expired by then, are skipped (GC-76). */
    ExpiredBy?: string;
  };
  /** Stores secrets of tokens under another key of the cluster. */
  ACLTokenRekey: { Tokens: RekeyedToken[] };
  /** `ResetIndex`: index of the bootstrap that this one follows (OP-145); 0: it is the first one. */
  ACLTokenBootstrap: { Token: AclTokenSpecification; ResetIndex: number };
  /** All or none. */
  ACLRolesUpsert: {
    Roles: AclRoleSpecification[];
    /** Whether they are updates: a deleted role is not created again. */
    MustExist: boolean;
  };
  ACLRolesDelete: { IDs: string[] };
  OneTimeTokenUpsert: { Token: OneTimeTokenSpecification };
  /**
   * The exchange of a one-time token. It names the secret and not the accessor, so that another one-time token of the
   * accessor stays (AU-242).
   */
  OneTimeTokenDelete: { OneTimeSecretHash: string };
  /** Deletes the one-time tokens that had expired at this time, unix ns (GC-74). */
  OneTimeTokenExpire: { Timestamp: number };
  ACLAuthMethodUpsert: { AuthMethod: AuthMethodSpecification };
  ACLAuthMethodDelete: {
    Name: string;
    /** Whether the method's binding rules are deleted too (AU-23). */
    WithRules: boolean;
  };
  ACLBindingRuleUpsert: {
    Rule: BindingRuleSpecification;
    /** Whether it is an update: a deleted rule is not created again. */
    MustExist: boolean;
  };
  ACLBindingRuleDelete: { ID: string };
  /** A new key, or a stored key in another state, of which only the state is written. */
  RootKeyUpsert: {
    Key: RootKeySpecification;
    /** Whether everything that previous keys encrypt must be encrypted anew (OP-212). */
    Rekey: boolean;
    /** Whether it is an update: a deleted key is not created again. */
    MustExist: boolean;
  };
  /** The same root key, wrapped by another wrapper (OP-210). */
  RootKeyRewrap: {
    KeyID: string;
    Wrapped: WrappedRootKey;
  };
  RootKeyDelete: {
    KeyID: string;
    /** Deletes the key even if it is in use (OP-213). */
    Force: boolean;
  };

  /** 3.4 variables. The variable's namespace is the envelope's; its items are sealed (OP-204). */
  VarApplyState: VariableChange;

  // 3.6 types of Waybill's own, and the two special numbers
  LeaseAcquired: { Role: Role; Epoch: number; Holder: string };
  /** Uses an introduction token for one new node, which is registered afterwards (AU-201). */
  NodeIntroduction: { Introduction: NodeIntroductionSpecification };
  /**
   * Restores the cluster from an archive, which was stored before this was written (OP-46), or from the state that the log makes: nothing changes then but that a history begins, terms end, and all are told.
   */
  StateRestore: {
    /** Its name in the store of archives. Empty: the state that the log makes; the next three members say nothing then. */
    Archive: string;
    /** Hash of the archive's bytes, hexadecimal. */
    SHA256: string;
    Bytes: number;
    /** The archive's own index. */
    Index: number;
    /** Set for logs from before schema version 5 only: tables without a change keep their index. */
    KeepsTableIndexes?: boolean;
    /** Not in the log: the log's reader adds the content of the archive before the transaction is applied. */
    Tables?: ArchivedTables;
  };
  /**
   * Replaces texts of stored jobs, after a user wrote a secret into a job file. Carries only new texts, never the former
   * ones. Refused for a version that is still in use. [ST-185]
   */
  HistoryRedact: {
    /** Versions of jobs: as the job, as its stored version, and as the job of its allocations. */
    Versions: { Namespace: string; JobID: string; CreateIndex: number; Version: number; Texts: RedactedText[] }[];
    Submissions: { Namespace: string; JobID: string; Version: number; JobModifyIndex: number; Texts: RedactedText[] }[];
    /** Texts of ended allocations beside their job, such as messages of task events. */
    Allocs: { ID: string; Texts: RedactedText[] }[];
  };
  /** The log and the events before this transaction are to be removed. With padding it only fills the log's file. [ST-186] */
  HistoryErase: { Padding: string };
  Initialise: Record<string, never>;
  /** Default type of internal write paths (ST-21). It changes nothing and has no events. */
  Ignore: Record<string, never>;
}

/** Items of a variable, sealed. */
interface SealedItems {
  /** ID of the root key. */
  readonly KeyID: string;
  /** Base64. */
  readonly Data: string;
}

/** The change of one transaction to one variable. `LockID`: ID of the lock that its writer holds, empty if none. */
export type VariableChange = { readonly Path: string } & (
  | ({ readonly Op: 'set'; readonly LockID: string } & SealedItems)
  /** Applies only if this transaction wrote the variable last; 0: only if there is none (OP-196). */
  | ({ readonly Op: 'cas'; readonly LockID: string; readonly CheckIndex: number } & SealedItems)
  | { readonly Op: 'delete'; readonly LockID: string }
  | { readonly Op: 'delete-cas'; readonly LockID: string; readonly CheckIndex: number }
  | ({ readonly Op: 'lock-acquire'; readonly Lock: VariableLockRequest } & SealedItems)
  | {
      readonly Op: 'lock-release';
      readonly LockID: string;
      /** Applies only if this transaction acquired the lock last: a holder that acquired it again keeps it (OP-202). */
      readonly AcquireIndex?: number;
    }
);

export type TxnType = keyof TxnPayloads;

export interface TxnTypeInfo {
  /** Catalogue number on the wire. Bit 128 set: a reader that does not know it may skip it (ST-8). */
  readonly number: number;
  /** `Type` of every event of this transaction; null: it has no events (EV-3). */
  readonly eventType: string | null;
  /** Schema version of the payloads that are written today. */
  readonly schemaVersion: number;
}

export const TXN_TYPES: { readonly [T in TxnType]: TxnTypeInfo } = {
  NodeRegister: { number: 0, eventType: 'NodeRegistration', schemaVersion: 1 },
  NodeDeregister: { number: 1, eventType: 'NodeDeregistration', schemaVersion: 1 },
  NodeUpdateStatus: { number: 2, eventType: 'NodeStreamEvent', schemaVersion: 1 },
  NodeUpdateDrain: { number: 3, eventType: 'NodeDrain', schemaVersion: 1 },
  JobRegister: { number: 4, eventType: 'JobRegistered', schemaVersion: 1 },
  JobDeregister: { number: 5, eventType: 'JobDeregistered', schemaVersion: 1 },
  EvalUpdate: { number: 6, eventType: 'EvaluationUpdated', schemaVersion: 1 },
  EvalDelete: { number: 7, eventType: null, schemaVersion: 3 },
  AllocClientUpdate: { number: 9, eventType: 'AllocationUpdated', schemaVersion: 4 },
  ReconcileJobSummaries: { number: 10, eventType: null, schemaVersion: 1 },
  ApplyPlanResults: { number: 13, eventType: 'PlanResult', schemaVersion: 5 },
  DeploymentStatusUpdate: { number: 14, eventType: 'DeploymentStatusUpdate', schemaVersion: 1 },
  DeploymentPromote: { number: 15, eventType: 'DeploymentPromotion', schemaVersion: 1 },
  DeploymentAllocHealth: { number: 16, eventType: 'DeploymentAllocHealth', schemaVersion: 2 },
  DeploymentDelete: { number: 17, eventType: null, schemaVersion: 1 },
  JobStability: { number: 18, eventType: null, schemaVersion: 1 },
  JobVersionTag: { number: 61, eventType: null, schemaVersion: 1 },
  ScalingEventRegister: { number: 38, eventType: null, schemaVersion: 1 },
  UpsertNodeEvents: { number: 25, eventType: 'NodeStreamEvent', schemaVersion: 1 },
  JobBatchDeregister: { number: 26, eventType: 'JobBatchDeregistered', schemaVersion: 1 },
  AllocUpdateDesiredTransition: { number: 27, eventType: 'AllocationUpdateDesiredStatus', schemaVersion: 1 },
  NodeUpdateEligibility: { number: 28, eventType: 'NodeEligibility', schemaVersion: 1 },
  BatchNodeUpdateDrain: { number: 29, eventType: 'NodeDrain', schemaVersion: 1 },
  SchedulerConfig: { number: 30, eventType: null, schemaVersion: 1 },
  NodeBatchDeregister: { number: 31, eventType: 'NodeDeregistration', schemaVersion: 1 },
  ClusterMetadata: { number: 32, eventType: null, schemaVersion: 1 },
  CSIVolumeRegister: { number: 35, eventType: 'CSIVolumeRegistered', schemaVersion: 1 },
  CSIVolumeDeregister: { number: 36, eventType: 'CSIVolumeDeregistered', schemaVersion: 1 },
  CSIVolumeClaim: { number: 37, eventType: 'CSIVolumeClaim', schemaVersion: 2 },
  CSIVolumeClaimBatch: { number: 39, eventType: 'CSIVolumeClaim', schemaVersion: 1 },
  CSIPluginDelete: { number: 40, eventType: null, schemaVersion: 1 },
  HostVolumeRegister: { number: 75, eventType: 'HostVolumeRegistered', schemaVersion: 1 },
  HostVolumeDelete: { number: 76, eventType: 'HostVolumeDeleted', schemaVersion: 1 },
  TaskGroupHostVolumeClaimDelete: { number: 77, eventType: null, schemaVersion: 1 },
  ServiceRegistrationUpsert: { number: 47, eventType: 'ServiceRegistration', schemaVersion: 1 },
  ServiceRegistrationDeleteByID: { number: 48, eventType: 'ServiceDeregistration', schemaVersion: 1 },
  ServiceRegistrationDeleteByNodeID: { number: 49, eventType: 'ServiceDeregistration', schemaVersion: 1 },
  NodePoolUpsert: { number: 59, eventType: 'NodePoolUpserted', schemaVersion: 1 },
  NodePoolDelete: { number: 60, eventType: 'NodePoolDeleted', schemaVersion: 1 },
  NamespaceUpsert: { number: 64, eventType: null, schemaVersion: 1 },
  NamespaceDelete: { number: 65, eventType: null, schemaVersion: 1 },
  ACLPolicyUpsert: { number: 19, eventType: 'ACLPolicyUpserted', schemaVersion: 1 },
  ACLPolicyDelete: { number: 20, eventType: 'ACLPolicyDeleted', schemaVersion: 1 },
  ACLTokenUpsert: { number: 21, eventType: 'ACLTokenUpserted', schemaVersion: 1 },
  ACLTokenDelete: { number: 22, eventType: 'ACLTokenDeleted', schemaVersion: 1 },
  ACLTokenBootstrap: { number: 23, eventType: null, schemaVersion: 1 },
  OneTimeTokenUpsert: { number: 44, eventType: null, schemaVersion: 1 },
  OneTimeTokenDelete: { number: 45, eventType: null, schemaVersion: 1 },
  OneTimeTokenExpire: { number: 46, eventType: null, schemaVersion: 1 },
  ACLRolesUpsert: { number: 53, eventType: 'ACLRoleUpserted', schemaVersion: 1 },
  ACLRolesDelete: { number: 54, eventType: 'ACLRoleDeleted', schemaVersion: 1 },
  ACLAuthMethodUpsert: { number: 55, eventType: 'ACLAuthMethodUpserted', schemaVersion: 1 },
  ACLAuthMethodDelete: { number: 56, eventType: 'ACLAuthMethodDeleted', schemaVersion: 1 },
  ACLBindingRuleUpsert: { number: 57, eventType: 'ACLBindingRuleUpserted', schemaVersion: 1 },
  ACLBindingRuleDelete: { number: 58, eventType: 'ACLBindingRuleDeleted', schemaVersion: 1 },
  RootKeyUpsert: { number: 62, eventType: null, schemaVersion: 1 },
  RootKeyDelete: { number: 52, eventType: null, schemaVersion: 1 },
  VarApplyState: { number: 50, eventType: 'VariableUpdated', schemaVersion: 1 },
  LeaseAcquired: { number: 100, eventType: null, schemaVersion: 1 },
  StateRestore: { number: 101, eventType: null, schemaVersion: 5 },
  RootKeyRewrap: { number: 102, eventType: null, schemaVersion: 1 },
  NodeIntroduction: { number: 103, eventType: null, schemaVersion: 1 },
  ACLTokenRekey: { number: 104, eventType: null, schemaVersion: 1 },
  HistoryRedact: { number: 105, eventType: null, schemaVersion: 1 },
  HistoryErase: { number: 106, eventType: null, schemaVersion: 1 },
  Initialise: { number: 127, eventType: null, schemaVersion: 1 },
  Ignore: { number: 128, eventType: null, schemaVersion: 1 },
};

/** A reader that does not know a number with this bit may skip it; without it, it must stop (ST-8). */
export const SKIPPABLE_BIT = 128;

/** Numbers of former types: accepted and ignored (section 3.5). */
export const RETIRED_NUMBERS: ReadonlySet<number> = new Set([8, 11, 12, 33, 34, 41, 42, 43]);

const byNumber = new Map<number, TxnType>();
for (const type of Object.keys(TXN_TYPES) as TxnType[]) byNumber.set(TXN_TYPES[type].number, type);

/** The type with this catalogue number, or undefined. */
export const txnTypeOf = (number: number): TxnType | undefined => byNumber.get(number);
