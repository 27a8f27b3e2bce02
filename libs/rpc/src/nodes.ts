import type { Allocation, ClientAllocUpdate, Node, NodeEvent, NodeStatus, ServiceRegistration } from '@waybill/model';
import type { ListFilesResponse, ReadFileResponse } from './alloc-files.js';
import { call, machineCall } from './call.js';
import { z } from 'zod';
import type { IndexResponse } from './broker.js';
import type { OnBehalfOf } from './deployments.js';

/** How long an allocation read may wait for news. */
export const MAX_ALLOC_QUERY_WAIT_MS = 30_000;
/** Every machine has one allocation read waiting at all times, so this bounds the machines per replica. */
export const MAX_WAITING_ALLOC_QUERIES = 50_000;

/** Longer than the line of registrations that a replica lets grow takes to be written. */
const REGISTRATION_TIMEOUT_MS = 30_000;
/** Those that are written and those that wait. */
const MAX_REGISTRATIONS_IN_PROGRESS = 25_000;

export interface NodeRegisterRequest {
  readonly Node: Node;
  /**
   * Index of the node's last change that the agent knows of, 0: of none. It is not taken if the node was changed since: what
   * a machine has said before cannot come behind what it says now (ND-223). Left out: taken in any case.
   */
  readonly After?: number;
}
export interface NodeStatusRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly Status: NodeStatus;
}
export interface NodeUpdateResponse {
  /** Of a registration that was not taken: register what is true now, after NodeModifyIndex. */
  readonly IsOvertaken?: true;
  /** ns until which the next heartbeat must have arrived; 0: not the holder's answer, ask the holder. */
  readonly HeartbeatTTL: number;
  readonly EvalIDs: readonly string[];
  readonly NodeModifyIndex: number;
  readonly NumNodes: number;
  readonly SchedulingEligibility: string;
  /** What the node is now; `initializing` asks the agent to send all its states (ND-68). */
  readonly Status: NodeStatus;
  /** 0: nothing had to be written. */
  readonly Index: number;
  /** Time of day by the servers when they answered, unix ms; absent from those of an older version. */
  readonly TimeMs?: number;
}
export interface NodeAllocsRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** Answer when the index is above this, or the wait is over. */
  readonly MinQueryIndex: number;
  /**
   * How many allocations the list of MinQueryIndex had: fewer by now is an answer too, for nothing else shows that one is
   * gone. Left out by older agents: then only what goes while a read waits shows (ND-153).
   */
  readonly Listed?: number;
  readonly MaxQueryTimeMs: number;
  /** The replica must have applied this index first: makes an agent's first read consistent (AG-41). */
  readonly MinStateIndex: number;
}
export interface NodeAllocsResponse {
  /** Allocation id → AllocModifyIndex (ST-155). Always the full list. */
  readonly Allocs: Record<string, number>;
  /** Not below RestoredIndex. */
  readonly Index: number;
  /** When the state was last taken back to an archive (OP-47); absent: it never was. */
  readonly RestoredIndex?: number;
}
export interface AllocsByIdRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly AllocIDs: readonly string[];
  /** The index of the map that named them: nothing older is answered (AG-43). */
  readonly MinStateIndex: number;
}
export interface AllocsByIdResponse {
  /** With their jobs. One that is gone meanwhile is left out. */
  readonly Allocs: readonly Allocation[];
  /** State they were read at. */
  readonly Index: number;
  /** As in NodeAllocsResponse: a list from before it is of a state that is no more. */
  readonly RestoredIndex?: number;
  /** Allocation id → trace of the transaction that last placed or changed it, where this replica saw it live. */
  readonly Traceparents: Record<string, string>;
}
export interface AllocUpdateRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly Allocs: readonly ClientAllocUpdate[];
  /** Never: the evaluations are computed here (EB-27). What is given is refused. */
  readonly Evals?: readonly unknown[];
  /**
   * Index of the last update of this node that the agent knows of, or of the last restore if that is later; 0: of neither.
   * It is not taken if there was another one since, or the node was registered for the first time: two updates of a node
   * cannot overtake each other (ND-223), and what was true before a restore is not said behind it (OP-47). The answer names
   * what it has to come after. Left out: taken in any case.
   */
  readonly After?: number;
}
export interface AllocUpdateResponse {
  /** What the next update comes after: this one if it was taken. */
  readonly Index: number;
  /** False: the node has said something that this update did not come after; send again what is true now. */
  readonly Taken: boolean;
  /** With one that was not taken: of the last restore, if there was one. The list of allocations says first what it left. */
  readonly RestoredIndex?: number;
}
export interface NodeEventsRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  readonly Events: readonly NodeEvent[];
}

/** What an agent says of a registration; the rest follows from its allocation. */
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
  /** One that is not registered is no error. */
  readonly IDs: readonly string[];
}

/** Templates of allocations that wait for news of a service, per replica. */
export const MAX_WAITING_SERVICE_QUERIES = 50_000;
/** Services in the namespace of the allocation. */
export interface ServiceNamesRequest extends OfOwnAllocation {
  /** Answer when the index is above this, or the wait is over. */
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
/** A name, and the tags of all its registrations. */
export interface ServiceName {
  readonly Name: string;
  readonly Tags: readonly string[];
}
export interface ServiceNamesResponse {
  readonly Services: readonly ServiceName[];
  readonly Index: number;
}

/**
 * The disk of the allocation that this one replaces, on another machine: what it shared among its tasks (`/alloc/data`) and
 * what each kept to itself (`/<task>/local`), and nothing else of it (AG-224). Refused as a conflict until it has ended.
 */
interface OnPreviousDisk extends OfOwnAllocation {
  readonly Path: string;
  /** When the allocation was placed: a replica that has not applied that yet refuses as a conflict. Older agents leave it out. */
  readonly MinStateIndex?: number;
}
export interface ListPreviousDiskRequest extends OnPreviousDisk {
  /** Entries behind this name; empty: from the first. */
  readonly After: string;
}
export interface ReadPreviousDiskRequest extends OnPreviousDisk {
  /** Bytes from the beginning. */
  readonly Offset: number;
}

/** Templates of tasks that wait for news of a variable, per replica. */
export const MAX_WAITING_VARIABLE_QUERIES = 50_000;
/** In one answer, which is one message. */
export const MAX_LISTED_VARIABLES = 2_000;
/** Variables that the identity of a task may see. */
export interface TaskVariablesRequest extends ServiceNamesRequest {
  readonly Task: string;
  /** Empty: that of the allocation. */
  readonly Namespace: string;
}
export interface ReadVariableRequest extends TaskVariablesRequest {
  readonly Path: string;
}
export interface ReadVariableResponse {
  /** null: there is no such variable, or the task may not read it. */
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

/** In one call: more than any group has. */
export const MAX_IDENTITIES_PER_CALL = 500;
/** An identity of a task or a service of an allocation (AU-139). */
export interface IdentityRequest {
  readonly AllocID: string;
  readonly WorkloadType: 'task' | 'service';
  /** Name of the task, or of the service as the job writes it. */
  readonly Workload: string;
  /** Of a service whose name has variables, the name that they give (AU-133). */
  readonly InterpolatedName?: string;
  readonly Identity: string;
}
export interface SignedIdentity extends IdentityRequest {
  readonly JWT: string;
  /** How long it is valid from now on, ms; null: it does not expire by itself. */
  readonly ValidMs: number | null;
}
export interface RejectedIdentity extends IdentityRequest {
  readonly Reason: string;
}
export interface SignIdentitiesRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** The replica must have applied this index first: that of the newest allocation asked for (AU-141). */
  readonly MinStateIndex: number;
  readonly Identities: readonly IdentityRequest[];
}
/** Each identity of the request is in one of the lists. */
export interface SignIdentitiesResponse {
  readonly Signed: readonly SignedIdentity[];
  readonly Rejected: readonly RejectedIdentity[];
}

/** Something that a user asks about a node. */
export interface NodeCommandRequest {
  readonly NodeID: string;
  readonly For: OnBehalfOf;
}
export interface NodeCommandResponse {
  readonly EvalIDs: readonly string[];
  /** 0: no evaluation was needed. */
  readonly EvalCreateIndex: number;
  readonly NodeModifyIndex: number;
  readonly NumNodes: number;
  readonly SchedulingEligibility: string;
  /** 0: nothing had to be written. */
  readonly Index: number;
}

export interface NodeDrainRequest extends NodeCommandRequest {
  /** `Deadline` in ns; negative: force at once, 0: none. null: cancel. */
  readonly DrainSpec: { readonly Deadline: number; readonly IgnoreSystemJobs: boolean } | null;
  readonly MarkEligible: boolean;
  readonly Meta: Readonly<Record<string, string>> | null;
  /** Identity of the caller as text (DR-17). */
  readonly UpdatedBy: string;
  /** Never: events are made here (DR-1). What is given is refused. */
  readonly NodeEvent?: unknown;
}
/** A machine that leaves asks for its own drain; its secret is its right to it (DR-80). */
export interface SelfDrainRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** The transaction's own, so that a request that is asked twice counts once. */
  readonly RequestID: string;
  readonly DrainSpec: NonNullable<NodeDrainRequest['DrainSpec']>;
  readonly Meta: Readonly<Record<string, string>>;
}
export interface SelfDrainStateRequest {
  readonly NodeID: string;
  readonly SecretID: string;
  /** The replica must have applied this index first: that of the drain asked for. */
  readonly MinStateIndex: number;
}
export interface SelfDrainState {
  readonly Draining: boolean;
}
export interface NodeEligibilityRequest extends NodeCommandRequest {
  readonly Eligibility: string;
  /** Never: events are made here (ND-90). What is given is refused. */
  readonly NodeEvent?: unknown;
}

const text = z.string();
const amount = z.number();
/** Looked at by the service, after the machine's right to say it (`machine-shapes.ts`). */
const checkedLater = z.unknown();
const OF_MACHINE = { NodeID: text, SecretID: text };
const OF_OWN_ALLOCATION = { ...OF_MACHINE, AllocID: text };
const UNTIL_NEWS = { MinQueryIndex: amount, MaxQueryTimeMs: amount };

/** Patient: a whole cluster may register at once, one after the other. */
export const registerNode = machineCall<NodeRegisterRequest, NodeUpdateResponse>(
  'nodes.register',
  { Node: checkedLater, After: amount.optional() },
  { timeoutMs: REGISTRATION_TIMEOUT_MS, maxInProgress: MAX_REGISTRATIONS_IN_PROGRESS },
);
/** The holder alone keeps the timers, so the holder alone answers a heartbeat. */
export const heartbeat = machineCall<NodeStatusRequest, NodeUpdateResponse>(
  'nodes.heartbeat',
  { ...OF_MACHINE, Status: text },
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
export const purgeNode = call<NodeCommandRequest, NodeCommandResponse>('nodes.purge');
export const evaluateNode = call<NodeCommandRequest, NodeCommandResponse>('nodes.evaluate');
export const updateNodeDrain = call<NodeDrainRequest, NodeCommandResponse>('nodes.updateDrain');
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
export const updateNodeEligibility = call<NodeEligibilityRequest, NodeCommandResponse>('nodes.updateEligibility');
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
/** Tokens of identities of the machine's own allocations (AU-139, AU-140). */
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
/** For templates; with the rights of the task's identity (OP-137, OP-138). */
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
