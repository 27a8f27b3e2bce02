import type { Allocation, ClientAllocUpdate, Node, NodeEvent, NodeStatus, ServiceRegistration } from '@waybill/model';
import type { Role } from '@waybill/state';
import type { ListFilesResponse, ReadFileResponse } from './alloc-files.js';
import { call, machineCall } from './call.js';
import { z } from 'zod';
import { machineCredential } from './machine-credential.js';
import type { IndexResponse } from './broker.js';
import type { OnBehalfOf } from './deployments.js';
import { needsNodeWrite } from './user-needs.js';

/** Longest wait of an allocation read for a change. */
export const MAX_ALLOC_QUERY_WAIT_MS = 30_000;
/** Every machine has one waiting allocation read at all times, so this limits the machines per replica. */
export const MAX_WAITING_ALLOC_QUERIES = 50_000;

/** Longer than it takes to write the longest allowed queue of registrations. */
const REGISTRATION_TIMEOUT_MS = 30_000;
/** Registrations that are being written or wait. */
const MAX_REGISTRATIONS_IN_PROGRESS = 25_000;

export interface NodeRegisterRequest {
  readonly Node: Node;
  /**
   * Index of the node's last change that the agent knows, 0 for none. The registration is not accepted if the node has
   * changed since, so that an older statement of a machine cannot follow a newer one (ND-223). If absent, it is always
   * accepted.
   */
  readonly After?: number;
  /** Introduces a machine that the servers do not know yet (AU-203). */
  readonly IntroductionToken?: string;
  /**
   * The signed identity that the machine has, even if it is expired; empty if it has none (AU-192). Absent from agents
   * that keep no identities: they get none.
   */
  readonly Identity?: string;
}
export interface NodeStatusRequest {
  readonly NodeID: string;
  /** The machine's secret or its signed identity (AU-191). */
  readonly SecretID: string;
  readonly Status: NodeStatus;
  /** Whether the machine needs a new identity at once (AU-199). Absent from agents that keep no identities. */
  readonly RenewIdentity?: boolean;
}
/** The present holders of roles, as the answering server knows them (AU-256). */
export interface RoleTerms {
  readonly ClusterID: string;
  /** Index of the last restore of the state, 0 if there was none. The terms of a restored state follow all earlier ones. */
  readonly RestoredIndex: number;
  /** Holders of the roles that call machines. */
  readonly Holders: Partial<Record<Role, { readonly Epoch: number; readonly Holder: string }>>;
}
export interface NodeUpdateResponse {
  /** Absent from servers of an older version. */
  readonly Terms?: RoleTerms;
  /** Set if a registration was not accepted. The agent must register its present state after NodeModifyIndex. */
  readonly IsOvertaken?: true;
  /**
   * Time in ns until which the next heartbeat must arrive. 0 if another process answered, so the agent must call the
   * holder.
   */
  readonly HeartbeatTTL: number;
  readonly EvalIDs: readonly string[];
  readonly NodeModifyIndex: number;
  readonly NumNodes: number;
  readonly SchedulingEligibility: string;
  /** Present status of the node. `initializing` requests all states of the agent (ND-68). */
  readonly Status: NodeStatus;
  /** 0 if nothing had to be written. */
  readonly Index: number;
  /** The servers' time of day at their response, in unix ms. Absent from servers of an older version. */
  readonly TimeMs?: number;
  /** A new identity, which the machine uses from now on instead of its secret. Absent if none was made (AU-192). */
  readonly SignedIdentity?: string;
}
export interface NodeAllocsRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** Return when the index is above this one, or the wait is over. */
  readonly MinQueryIndex: number;
  /**
   * Number of allocations in the list of MinQueryIndex. A smaller number now is a change too, because nothing else
   * shows that an allocation is gone. Older agents omit it; then only removals during a wait are noticed (ND-153).
   */
  readonly Listed?: number;
  readonly MaxQueryTimeMs: number;
  /** Index that the replica must have first. It makes an agent's first read consistent (AG-41). */
  readonly MinStateIndex: number;
}
export interface NodeAllocsResponse {
  /** Absent from servers of an older version. */
  readonly Terms?: RoleTerms;
  /** Allocation ID → AllocModifyIndex (ST-155). Always the full list. */
  readonly Allocs: Record<string, number>;
  /** Never below RestoredIndex. */
  readonly Index: number;
  /** Index of the last restore from an archive (OP-47). Absent if there was none. */
  readonly RestoredIndex?: number;
}
export interface AllocsByIdRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly AllocIDs: readonly string[];
  /** Index of the map that listed the allocations. No older state is returned (AG-43). */
  readonly MinStateIndex: number;
}
export interface AllocsByIdResponse {
  /** The allocations with their jobs. An allocation that is gone meanwhile is left out. */
  readonly Allocs: readonly Allocation[];
  /** Index of the state that was read. */
  readonly Index: number;
  /** Index of the last restore, as in NodeAllocsResponse. A list from before it belongs to a replaced state. */
  readonly RestoredIndex?: number;
  /** Allocation ID → trace of the transaction that last placed or changed it, if this replica saw it live. */
  readonly Traceparents: Record<string, string>;
}
export interface AllocUpdateRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly Allocs: readonly ClientAllocUpdate[];
  /** Must be absent, because the service creates the evaluations (EB-27). */
  readonly Evals?: readonly unknown[];
  /**
   * Index of the last update of this node that the agent knows, or of the last restore if that is later. 0 if there was
   * neither. The update is not accepted if there was another one since, or the node was registered for the first time.
   * So updates of a node cannot overtake each other (ND-223), and a statement from before a restore cannot follow it
   * (OP-47). The response contains the index that the update must follow. If absent, the update is always accepted.
   */
  readonly After?: number;
}
export interface AllocUpdateResponse {
  /** The index that the next update must follow: that of this update if it was accepted. */
  readonly Index: number;
  /**
   * False if the update does not follow the last statement of the node. The agent must send its present state again.
   */
  readonly Taken: boolean;
  /**
   * For an update that was not accepted: index of the last restore, if there was one. The agent must first read which
   * allocations it kept.
   */
  readonly RestoredIndex?: number;
}
export interface NodeEventsRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly Events: readonly NodeEvent[];
}

/** The members of a registration that an agent sets. The others follow from its allocation. */
export type RegisteredService = Pick<ServiceRegistration, 'ID' | 'ServiceName' | 'Tags' | 'Address' | 'Port'>;
interface OfOwnAllocation {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly AllocID: string;
}
export interface RegisterServicesRequest extends OfOwnAllocation {
  readonly Services: readonly RegisteredService[];
}
export interface DeregisterServicesRequest extends OfOwnAllocation {
  /** An ID that is not registered is not an error. */
  readonly IDs: readonly string[];
}

/** Most templates of allocations that wait for changes of a service, per replica. */
export const MAX_WAITING_SERVICE_QUERIES = 50_000;
/** Lists the services in the namespace of the allocation. */
export interface ServiceNamesRequest extends OfOwnAllocation {
  /** Return when the index is above this one, or the wait is over. */
  readonly MinQueryIndex: number;
  readonly MaxQueryTimeMs: number;
}
export interface NamedServicesRequest extends ServiceNamesRequest {
  readonly ServiceName: string;
}
export interface NamedServicesResponse {
  readonly Services: readonly ServiceRegistration[];
  readonly Index: number;
}
/** Name of a service, and the tags of all its registrations. */
export interface ServiceName {
  readonly Name: string;
  readonly Tags: readonly string[];
}
export interface ServiceNamesResponse {
  readonly Services: readonly ServiceName[];
  readonly Index: number;
}

/**
 * Reads the disk of the allocation that this one replaces, on another machine: the directory that its tasks share
 * (`/alloc/data`) and each task's own (`/<task>/local`), and nothing else (AG-224). Refused as a conflict until that
 * allocation has ended.
 */
interface OnPreviousDisk extends OfOwnAllocation {
  readonly Path: string;
  /** Index of the placement. A replica that has not applied it yet refuses as a conflict. Older agents omit it. */
  readonly MinStateIndex?: number;
}
export interface ListPreviousDiskRequest extends OnPreviousDisk {
  /** Return entries after this name. Empty for the first ones. */
  readonly After: string;
}
export interface ReadPreviousDiskRequest extends OnPreviousDisk {
  /** Bytes from the start. */
  readonly Offset: number;
}

/** Most templates of tasks that wait for changes of a variable, per replica. */
export const MAX_WAITING_VARIABLE_QUERIES = 50_000;
/** Most variables in one response, which is one message. */
export const MAX_LISTED_VARIABLES = 2_000;
/** Lists the variables that the identity of a task may see. */
export interface TaskVariablesRequest extends ServiceNamesRequest {
  readonly Task: string;
  /** Empty for the namespace of the allocation. */
  readonly Namespace: string;
}
export interface ReadVariableRequest extends TaskVariablesRequest {
  readonly Path: string;
}
export interface ReadVariableResponse {
  /** Null if the variable does not exist or the task may not read it. */
  readonly Items: Readonly<Record<string, string>> | null;
  readonly IsDenied: boolean;
  readonly Index: number;
}
export interface ListVariablesRequest extends TaskVariablesRequest {
  readonly Prefix: string;
}
export interface ListVariablesResponse {
  readonly Namespace: string;
  readonly Paths: readonly string[];
  readonly Index: number;
}

/** Most identities in one call: more than any group has. */
export const MAX_IDENTITIES_PER_CALL = 500;
/** Requests an identity of a task or a service of an allocation (AU-139). */
export interface IdentityRequest {
  readonly AllocID: string;
  readonly WorkloadType: 'task' | 'service';
  /** Name of the task, or of the service as written in the job. */
  readonly Workload: string;
  /** Name of a service after its variables were replaced (AU-133). */
  readonly InterpolatedName?: string;
  readonly Identity: string;
}
export interface SignedIdentity extends IdentityRequest {
  readonly JWT: string;
  /** Time in ms for which it is valid from now on. Null if it does not expire by itself. */
  readonly ValidMs: number | null;
}
export interface RejectedIdentity extends IdentityRequest {
  readonly Reason: string;
}
export interface SignIdentitiesRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** Index that the replica must have first: that of the newest requested allocation (AU-141). */
  readonly MinStateIndex: number;
  readonly Identities: readonly IdentityRequest[];
}
/** Each requested identity is in one of the lists. */
export interface SignIdentitiesResponse {
  readonly Signed: readonly SignedIdentity[];
  readonly Rejected: readonly RejectedIdentity[];
}

/** A user's request that concerns a node. */
export interface NodeCommandRequest {
  readonly NodeID: string;
  readonly For: OnBehalfOf;
}
export interface NodeCommandResponse {
  readonly EvalIDs: readonly string[];
  /** 0 if no evaluation was needed. */
  readonly EvalCreateIndex: number;
  readonly NodeModifyIndex: number;
  readonly NumNodes: number;
  readonly SchedulingEligibility: string;
  /** 0 if nothing had to be written. */
  readonly Index: number;
}

export interface NodeDrainRequest extends NodeCommandRequest {
  /** `Deadline` is in ns. A negative one forces the drain at once, and 0 stands for none. Null cancels the drain. */
  readonly DrainSpec: { readonly Deadline: number; readonly IgnoreSystemJobs: boolean } | null;
  readonly MarkEligible: boolean;
  readonly Meta: Readonly<Record<string, string>> | null;
  /** Identity of the caller as text (DR-17). */
  readonly UpdatedBy: string;
  /** Must be absent, because the service creates the events (DR-1). */
  readonly NodeEvent?: unknown;
}
/** A machine that leaves the cluster requests its own drain. Its secret authorises the request (DR-80). */
export interface SelfDrainRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** Request ID of the transaction, so that a repeated request counts once. */
  readonly RequestID: string;
  readonly DrainSpec: NonNullable<NodeDrainRequest['DrainSpec']>;
  readonly Meta: Readonly<Record<string, string>>;
}
export interface SelfDrainStateRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** Index that the replica must have first: that of the requested drain. */
  readonly MinStateIndex: number;
}
export interface SelfDrainState {
  readonly Draining: boolean;
}
export interface NodeEligibilityRequest extends NodeCommandRequest {
  readonly Eligibility: string;
  /** Must be absent, because the service creates the events (ND-90). */
  readonly NodeEvent?: unknown;
}

const text = z.string();
const amount = z.number();
/** Members that the service checks after it has authorised the machine (`machine-shapes.ts`). */
const checkedLater = z.unknown();
const OF_MACHINE = { NodeID: text, SecretID: machineCredential };
const OF_OWN_ALLOCATION = { ...OF_MACHINE, AllocID: text };
const UNTIL_NEWS = { MinQueryIndex: amount, MaxQueryTimeMs: amount };

/** Its timeout is long, because a whole cluster may register at once, one node after the other. */
export const registerNode = machineCall<NodeRegisterRequest, NodeUpdateResponse>(
  'nodes.register',
  {
    Node: checkedLater,
    After: amount.optional(),
    IntroductionToken: machineCredential.optional(),
    Identity: machineCredential.optional(),
  },
  { timeoutMs: REGISTRATION_TIMEOUT_MS, maxInProgress: MAX_REGISTRATIONS_IN_PROGRESS, namesMachine: true },
);
/** Only the holder keeps the timers, so only the holder answers a heartbeat. */
export const heartbeat = machineCall<NodeStatusRequest, NodeUpdateResponse>(
  'nodes.heartbeat',
  { ...OF_MACHINE, Status: text, RenewIdentity: z.boolean().optional() },
  { role: 'nodes' },
);
export const nodeAllocs = machineCall<NodeAllocsRequest, NodeAllocsResponse>(
  'nodes.nodeAllocs',
  { ...OF_MACHINE, ...UNTIL_NEWS, Listed: amount.optional(), MinStateIndex: amount },
  { timeoutMs: MAX_ALLOC_QUERY_WAIT_MS + 5_000, maxInProgress: MAX_WAITING_ALLOC_QUERIES },
);
export const allocsById = machineCall<AllocsByIdRequest, AllocsByIdResponse>('nodes.allocsById', {
  ...OF_MACHINE,
  AllocIDs: checkedLater,
  MinStateIndex: amount,
});
export const updateAllocs = machineCall<AllocUpdateRequest, AllocUpdateResponse>('nodes.updateAllocs', {
  ...OF_MACHINE,
  Allocs: checkedLater,
  Evals: z.array(z.unknown()).optional(),
  After: amount.optional(),
});
const OF_OPERATORS = { userNeeds: needsNodeWrite };
export const purgeNode = call<NodeCommandRequest, NodeCommandResponse>('nodes.purge', OF_OPERATORS);
export const evaluateNode = call<NodeCommandRequest, NodeCommandResponse>('nodes.evaluate', OF_OPERATORS);
export const updateNodeDrain = call<NodeDrainRequest, NodeCommandResponse>('nodes.updateDrain', OF_OPERATORS);
export const drainSelf = machineCall<SelfDrainRequest, NodeCommandResponse>('nodes.drainSelf', {
  ...OF_MACHINE,
  RequestID: checkedLater,
  DrainSpec: checkedLater,
  Meta: checkedLater,
});
export const selfDrainState = machineCall<SelfDrainStateRequest, SelfDrainState>('nodes.selfDrainState', {
  ...OF_MACHINE,
  MinStateIndex: amount,
});
export const updateNodeEligibility = call<NodeEligibilityRequest, NodeCommandResponse>(
  'nodes.updateEligibility',
  OF_OPERATORS,
);
export const emitNodeEvents = machineCall<NodeEventsRequest, IndexResponse>('nodes.emitEvents', {
  ...OF_MACHINE,
  Events: checkedLater,
});
export const registerServices = machineCall<RegisterServicesRequest, IndexResponse>('nodes.registerServices', {
  ...OF_OWN_ALLOCATION,
  Services: checkedLater,
});
export const deregisterServices = machineCall<DeregisterServicesRequest, IndexResponse>('nodes.deregisterServices', {
  ...OF_OWN_ALLOCATION,
  IDs: checkedLater,
});
/** Returns tokens for identities of the machine's own allocations (AU-139, AU-140). */
export const signIdentities = machineCall<SignIdentitiesRequest, SignIdentitiesResponse>('nodes.signIdentities', {
  ...OF_MACHINE,
  MinStateIndex: amount,
  Identities: checkedLater,
});
export const namedServices = machineCall<NamedServicesRequest, NamedServicesResponse>(
  'nodes.namedServices',
  { ...OF_OWN_ALLOCATION, ...UNTIL_NEWS, ServiceName: text },
  { timeoutMs: MAX_ALLOC_QUERY_WAIT_MS + 5_000, maxInProgress: MAX_WAITING_SERVICE_QUERIES },
);
export const serviceNames = machineCall<ServiceNamesRequest, ServiceNamesResponse>(
  'nodes.serviceNames',
  { ...OF_OWN_ALLOCATION, ...UNTIL_NEWS },
  { timeoutMs: MAX_ALLOC_QUERY_WAIT_MS + 5_000, maxInProgress: MAX_WAITING_SERVICE_QUERIES },
);
const OF_TASK = { ...OF_OWN_ALLOCATION, ...UNTIL_NEWS, Task: text, Namespace: text };
const OF_VARIABLES = { timeoutMs: MAX_ALLOC_QUERY_WAIT_MS + 5_000, maxInProgress: MAX_WAITING_VARIABLE_QUERIES };
/** Reads a variable for a template, with the rights of the task's identity (OP-137, OP-138). */
export const readVariable = machineCall<ReadVariableRequest, ReadVariableResponse>(
  'nodes.readVariable',
  { ...OF_TASK, Path: text },
  OF_VARIABLES,
);
export const listVariables = machineCall<ListVariablesRequest, ListVariablesResponse>(
  'nodes.listVariables',
  { ...OF_TASK, Prefix: text },
  OF_VARIABLES,
);
/** Longer than the other machine may take. */
const PREVIOUS_DISK_TIMEOUT_MS = 35_000;
export const listPreviousDisk = machineCall<ListPreviousDiskRequest, ListFilesResponse>(
  'nodes.listPreviousDisk',
  { ...OF_OWN_ALLOCATION, Path: text, MinStateIndex: amount.optional(), After: text },
  { timeoutMs: PREVIOUS_DISK_TIMEOUT_MS },
);
export const readPreviousDisk = machineCall<ReadPreviousDiskRequest, ReadFileResponse>(
  'nodes.readPreviousDisk',
  { ...OF_OWN_ALLOCATION, Path: text, MinStateIndex: amount.optional(), Offset: amount },
  { timeoutMs: PREVIOUS_DISK_TIMEOUT_MS },
);
