import type {
  AllocListStub,
  AllocMetric,
  AllocNetworkStatus,
  Allocation,
  TaskState,
} from '../evaluations/allocation.js';
import { encodeJob } from './encode-job.js';
import type { Job } from '../jobs/job.js';
import type { AllocatedResources, AllocatedTaskResources, NetworkResource, Resources } from '../nodes/resources.js';
import { displayMessage } from '../evaluations/task-event.js';
import { encodeAllocatedResources, encodeMap, encodeResources, omitEmpty, type WireObject } from './wire-object.js';

/**
 * Encodes an allocation for clients: zero members are left out (API-17), texts of task events are filled in (AG-2), and
 * the older resource totals are computed from `AllocatedResources`. The job is included only with `withJob`, which
 * events never set.
 */
export function encodeAllocation(alloc: Allocation, options: { withJob: boolean }): WireObject {
  return omitEmpty({
    ...alloc,
    Job: options.withJob && alloc.Job !== null ? encodeJob(alloc.Job) : null,
    ...resourceMembers(alloc),
    Metrics: alloc.Metrics === null ? null : encodeAllocMetric(alloc.Metrics),
    DesiredTransition: hasTransition(alloc) ? alloc.DesiredTransition : null,
    NetworkStatus: alloc.NetworkStatus ?? (hasBeenReported(alloc) ? NO_OWN_NETWORK : null),
    TaskStates: encodeMap(alloc.TaskStates, withDisplayMessages),
  });
}

export interface AllocationStubOptions {
  /** The job at the version that the allocation runs. The default is the embedded job. */
  job?: Pick<Job, 'Type' | 'Version'> | null;
  /** Adds `AllocatedResources` (API-75). */
  resources?: boolean;
  /** If false, `TaskStates` is null. */
  taskStates?: boolean;
}

/** Encodes an allocation for a list. Unlike the allocation itself, the row has every field. */
export function encodeAllocationStub(alloc: Allocation, options: AllocationStubOptions = {}): WireObject {
  const stub = allocationStub(alloc, options);
  if (options.resources !== true) return { ...stub };
  return { ...stub, AllocatedResources: encodeAllocatedResources(alloc.AllocatedResources) };
}

export function allocationStub(alloc: Allocation, options: AllocationStubOptions = {}): AllocListStub {
  const job = options.job ?? alloc.Job;
  return {
    ID: alloc.ID,
    EvalID: alloc.EvalID,
    Name: alloc.Name,
    Namespace: alloc.Namespace,
    NodeID: alloc.NodeID,
    NodeName: alloc.NodeName,
    JobID: alloc.JobID,
    JobType: job?.Type ?? '',
    JobVersion: job?.Version ?? 0,
    TaskGroup: alloc.TaskGroup,
    DesiredStatus: alloc.DesiredStatus,
    DesiredDescription: alloc.DesiredDescription,
    ClientStatus: alloc.ClientStatus,
    ClientDescription: alloc.ClientDescription,
    DesiredTransition: alloc.DesiredTransition,
    TaskStates: options.taskStates === false ? null : mapValues(alloc.TaskStates, withDisplayMessages),
    DeploymentStatus: alloc.DeploymentStatus,
    FollowupEvalID: alloc.FollowupEvalID,
    NextAllocation: alloc.NextAllocation,
    RescheduleTracker: alloc.RescheduleTracker,
    PreemptedAllocations: alloc.PreemptedAllocations,
    PreemptedByAllocation: alloc.PreemptedByAllocation,
    CreateIndex: alloc.CreateIndex,
    ModifyIndex: alloc.ModifyIndex,
    CreateTime: alloc.CreateTime,
    ModifyTime: alloc.ModifyTime,
  };
}

type Holding = Pick<Allocation, 'Resources' | 'SharedResources' | 'TaskResources' | 'AllocatedResources'>;

/** The last encoded resources and their result. Allocations of one plan follow each other and share their resources. */
let encodedLast: { readonly of: Holding; readonly members: WireObject } | undefined;

function resourceMembers({ Resources, SharedResources, TaskResources, AllocatedResources }: Holding): WireObject {
  const last = encodedLast?.of;
  if (
    encodedLast &&
    last?.AllocatedResources === AllocatedResources &&
    last.TaskResources === TaskResources &&
    last.Resources === Resources &&
    last.SharedResources === SharedResources
  )
    return encodedLast.members;
  const of = { Resources, SharedResources, TaskResources, AllocatedResources };
  const members = {
    Resources: encodeResources(Resources ?? totalResources(AllocatedResources)),
    SharedResources: encodeResources(SharedResources ?? sharedResources(AllocatedResources)),
    TaskResources: encodeMap(taskResources(of), encodeResources),
    AllocatedResources: encodeAllocatedResources(AllocatedResources),
  };
  encodedLast = { of, members };
  return members;
}

/** Encodes metrics. Only the networks in exhausted resources lose their zero members. */
export function encodeAllocMetric(metric: AllocMetric): AllocMetric | WireObject {
  if (metric.ResourcesExhausted === null) return metric;
  return { ...metric, ResourcesExhausted: encodeMap(metric.ResourcesExhausted, encodeResources) };
}

function withDisplayMessages(state: TaskState): TaskState {
  return { ...state, Events: state.Events.map((event) => ({ ...event, DisplayMessage: displayMessage(event) })) };
}

/** Network status of an allocation without a network of its own: it uses the network of its machine. */
const NO_OWN_NETWORK: AllocNetworkStatus = { InterfaceName: '', Address: '', AddressIPv6: '', DNS: null };

/** Whether the agent has reported the allocation at least once. */
const hasBeenReported = ({ TaskStates }: Allocation): boolean => Object.keys(TaskStates).length > 0;

function hasTransition(alloc: Allocation): boolean {
  return Object.values(alloc.DesiredTransition).some((wish) => wish !== null);
}

function taskResources(alloc: Holding): Record<string, Resources> {
  if (Object.keys(alloc.TaskResources).length > 0) return alloc.TaskResources;
  return mapValues(alloc.AllocatedResources.Tasks, (task) => olderResources([task], 0, task.Networks ?? []));
}

function sharedResources(resources: AllocatedResources): Resources {
  return olderResources([], resources.Shared.DiskMB, resources.Shared.Networks ?? []);
}

function totalResources(resources: AllocatedResources): Resources {
  const tasks = Object.values(resources.Tasks);
  const networks = [...(resources.Shared.Networks ?? []), ...tasks.flatMap((task) => task.Networks ?? [])];
  return olderResources(tasks, resources.Shared.DiskMB, networks);
}

function olderResources(tasks: AllocatedTaskResources[], diskMb: number, networks: NetworkResource[]): Resources {
  const sum = (of: (task: AllocatedTaskResources) => number) => tasks.reduce((total, task) => total + of(task), 0);
  return {
    CPU: sum((task) => task.Cpu.CpuShares),
    Cores: sum((task) => task.Cpu.ReservedCores?.length ?? 0),
    MemoryMB: sum((task) => task.Memory.MemoryMB),
    MemoryMaxMB: sum((task) => task.Memory.MemoryMaxMB),
    DiskMB: diskMb,
    IOPS: 0,
    Networks: networks.length === 0 ? null : networks,
    Devices: null,
    NUMA: null,
    SecretsMB: 0,
  };
}

function mapValues<V, W>(map: Record<string, V>, change: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}
