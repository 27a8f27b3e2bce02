import {
  defaultSchedulerConfiguration,
  newEvaluation,
  NO_TRANSITION,
  type Allocation,
  type ClientAllocUpdate,
  type Deployment,
  type DeploymentState,
  type Evaluation,
  type Job,
  type Node,
  type NodePool,
  type Namespace,
  type ServiceRegistration,
  type Task,
  type TaskGroup,
  NS_PER_HOUR,
  NS_PER_MINUTE,
  NS_PER_SECOND,
} from '@waybill/model';
import type { TxnPayloads, TxnType } from './catalogue.js';
import { draftTxn, serviceActor, type DraftContext } from './draft.js';
import { StateMachine, type Applied } from './state-machine.js';
import type { Txn } from './txn.js';

/** 2026-01-01T00:00:00Z in unix nanoseconds: the time of every fixture. */
const FIXTURE_TIME_NS = 1_767_225_600_000 * 1e6;
const FIXTURE_TIME_SECONDS = FIXTURE_TIME_NS / 1e9;

let lastId = 0;

/** A uuid that depends on `n` only. */
function uuid(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** A uuid no other fixture of this process has. */
const freshId = (): string => uuid(++lastId);

function aTask(over: Partial<Task> = {}): Task {
  return {
    Name: 'web',
    Driver: 'mock_driver',
    User: '',
    Config: { run_for: '1h' },
    Env: null,
    Services: null,
    Vault: null,
    Secrets: null,
    Consul: null,
    Templates: null,
    Constraints: null,
    Affinities: null,
    Resources: {
      CPU: 100,
      Cores: 0,
      MemoryMB: 64,
      MemoryMaxMB: 0,
      DiskMB: 0,
      IOPS: 0,
      Networks: null,
      Devices: null,
      NUMA: null,
      SecretsMB: 0,
    },
    RestartPolicy: {
      Attempts: 2,
      Interval: 30 * NS_PER_MINUTE,
      Delay: 15 * NS_PER_SECOND,
      Mode: 'fail',
      RenderTemplates: false,
    },
    DispatchPayload: null,
    Lifecycle: null,
    Meta: null,
    KillTimeout: 5 * NS_PER_SECOND,
    KillSignal: '',
    LogConfig: { MaxFiles: 10, MaxFileSizeMB: 10, Disabled: false },
    Artifacts: null,
    Leader: false,
    ShutdownDelay: 0,
    VolumeMounts: null,
    ScalingPolicies: null,
    Kind: '',
    CSIPluginConfig: null,
    Identity: null,
    Identities: null,
    Actions: null,
    Schedule: null,
    ...over,
  };
}

/** A group as canonicalisation leaves it for a job of this type. */
function aGroup(over: Partial<TaskGroup> = {}, type = 'service'): TaskGroup {
  const service = type === 'service';
  const system = type === 'system' || type === 'sysbatch';
  return {
    Name: 'web',
    Count: 1,
    Update:
      service || type === 'system'
        ? {
            Stagger: 30 * NS_PER_SECOND,
            MaxParallel: 1,
            HealthCheck: 'checks',
            MinHealthyTime: 10 * NS_PER_SECOND,
            HealthyDeadline: 5 * NS_PER_MINUTE,
            ProgressDeadline: 10 * NS_PER_MINUTE,
            AutoRevert: false,
            AutoPromote: false,
            Canary: 0,
          }
        : null,
    Migrate: service
      ? {
          MaxParallel: 1,
          HealthCheck: 'checks',
          MinHealthyTime: 10 * NS_PER_SECOND,
          HealthyDeadline: 5 * NS_PER_MINUTE,
        }
      : null,
    Constraints: null,
    Affinities: null,
    Spreads: null,
    Scaling: null,
    RestartPolicy: {
      Attempts: 2,
      Interval: 30 * NS_PER_MINUTE,
      Delay: 15 * NS_PER_SECOND,
      Mode: 'fail',
      RenderTemplates: false,
    },
    ReschedulePolicy: system
      ? null
      : service
        ? {
            Attempts: 0,
            Interval: 0,
            Delay: 30 * NS_PER_SECOND,
            DelayFunction: 'exponential',
            MaxDelay: NS_PER_HOUR,
            Unlimited: true,
          }
        : {
            Attempts: 1,
            Interval: 24 * NS_PER_HOUR,
            Delay: 5 * NS_PER_SECOND,
            DelayFunction: 'constant',
            MaxDelay: 0,
            Unlimited: false,
          },
    Disconnect: null,
    Tasks: [aTask()],
    EphemeralDisk: { Sticky: false, SizeMB: 300, Migrate: false },
    Meta: null,
    Networks: null,
    Consul: null,
    Services: null,
    Volumes: null,
    ShutdownDelay: null,
    MaxRunDuration: null,
    StopAfterClientDisconnect: null,
    MaxClientDisconnect: null,
    PreventRescheduleOnLost: false,
    ...over,
  };
}

/** A canonical service job `web` in `default` with one group `web` of one task. */
function aJob(over: Partial<Job> = {}): Job {
  return {
    ID: 'web',
    Name: over.ID ?? 'web',
    Namespace: 'default',
    Region: 'global',
    ParentID: '',
    Type: 'service',
    Priority: 50,
    AllAtOnce: false,
    Datacenters: ['*'],
    NodePool: 'default',
    Constraints: null,
    Affinities: null,
    Spreads: null,
    TaskGroups: [aGroup({}, over.Type)],
    Update: {
      Stagger: 30 * NS_PER_SECOND,
      MaxParallel: 1,
      HealthCheck: '',
      MinHealthyTime: 0,
      HealthyDeadline: 0,
      ProgressDeadline: 0,
      AutoRevert: false,
      AutoPromote: false,
      Canary: 0,
    },
    Multiregion: null,
    Periodic: null,
    ParameterizedJob: null,
    Dispatched: false,
    DispatchIdempotencyToken: '',
    Payload: null,
    Meta: null,
    ConsulNamespace: '',
    VaultNamespace: '',
    NomadTokenID: '',
    Status: 'pending',
    StatusDescription: '',
    Stop: false,
    Stable: false,
    Version: 0,
    SubmitTime: FIXTURE_TIME_NS,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
    UI: null,
    VersionTag: null,
    ...over,
  };
}

/** A ready node with 4,000 MHz, 8 GiB and 100 GiB, and the drivers of a Linux agent. */
function aNode(over: Partial<Node> = {}): Node {
  const ID = over.ID ?? freshId();
  const driver = {
    Attributes: null,
    Detected: true,
    Healthy: true,
    HealthDescription: 'Healthy',
    UpdateTime: '2026-01-01T00:00:00Z',
  };
  return {
    ID,
    SecretID: `5ec7e700-${ID.slice(9)}`,
    Datacenter: 'dc1',
    Name: `node-${ID.slice(-4)}`,
    NodeClass: '',
    NodePool: 'default',
    HTTPAddr: '127.0.0.1:4646',
    TLSEnabled: false,
    CgroupParent: '',
    Attributes: {
      'kernel.name': 'linux',
      'cpu.arch': 'amd64',
      'driver.mock_driver': '1',
      'driver.raw_exec': '1',
      'nomad.version': '1.10.0',
    },
    NodeResources: {
      Cpu: { CpuShares: 4000, TotalCpuCores: 4, ReservableCpuCores: null },
      Processors: { Topology: null },
      Memory: { MemoryMB: 8192 },
      Disk: { DiskMB: 100 * 1024 },
      Devices: null,
      NodeNetworks: [
        {
          Mode: 'host',
          Device: 'eth0',
          MacAddress: '',
          Speed: 1000,
          Addresses: [{ Family: 'ipv4', Alias: 'default', Address: '192.168.0.100', ReservedPorts: '', Gateway: '' }],
        },
      ],
      Networks: null,
      MinDynamicPort: 20000,
      MaxDynamicPort: 32000,
    },
    ReservedResources: {
      Cpu: { CpuShares: 0, ReservedCpuCores: null },
      Memory: { MemoryMB: 0 },
      Disk: { DiskMB: 0 },
      Networks: { ReservedHostPorts: '' },
    },
    Links: {},
    Meta: {},
    ComputedClass: 'v1:fixture',
    DrainStrategy: null,
    SchedulingEligibility: 'eligible',
    Status: 'ready',
    StatusDescription: '',
    StatusUpdatedAt: FIXTURE_TIME_SECONDS,
    IdentitySigningKeyID: '',
    Events: [],
    Drivers: { mock_driver: driver, raw_exec: driver },
    CSIControllerPlugins: {},
    CSINodePlugins: {},
    HostVolumes: {},
    GCVolumesOnNodeGC: false,
    HostNetworks: {},
    LastDrain: null,
    NodeMaxAllocs: 0,
    LastMissedHeartbeatIndex: 0,
    LastAllocUpdateIndex: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    ...over,
  };
}

/** A pending allocation of the first group of `job` (a fresh `aJob()` if not given). */
function anAlloc(over: Partial<Allocation> = {}): Allocation {
  const job = over.Job === undefined ? aJob({ ID: over.JobID ?? 'web' }) : over.Job;
  const group = job?.TaskGroups.find((g) => g.Name === over.TaskGroup) ?? job?.TaskGroups[0];
  const groupName = over.TaskGroup ?? group?.Name ?? 'web';
  const jobId = over.JobID ?? job?.ID ?? 'web';
  const tasks = group?.Tasks ?? [];
  return {
    ID: freshId(),
    EvalID: freshId(),
    Namespace: job?.Namespace ?? 'default',
    JobID: jobId,
    TaskGroup: groupName,
    Name: `${jobId}.${groupName}[0]`,
    NodeID: uuid(0xa0de),
    NodeName: 'node',
    Job: job,
    Resources: null,
    SharedResources: null,
    TaskResources: {},
    AllocatedResources: {
      Tasks: Object.fromEntries(
        tasks.map((t) => [
          t.Name,
          {
            Cpu: { CpuShares: t.Resources.CPU, ReservedCores: null },
            Memory: { MemoryMB: t.Resources.MemoryMB, MemoryMaxMB: t.Resources.MemoryMaxMB },
            Networks: null,
            Devices: null,
          },
        ]),
      ),
      TaskLifecycles: Object.fromEntries(tasks.map((t) => [t.Name, t.Lifecycle])),
      Shared: { Networks: null, DiskMB: group?.EphemeralDisk.SizeMB ?? 300, Ports: null },
    },
    Metrics: null,
    DesiredStatus: 'run',
    DesiredDescription: '',
    DesiredTransition: { ...NO_TRANSITION },
    ClientStatus: 'pending',
    ClientDescription: '',
    TaskStates: {},
    AllocStates: [],
    PreviousAllocation: '',
    NextAllocation: '',
    DeploymentID: '',
    DeploymentStatus: null,
    RescheduleTracker: null,
    NetworkStatus: null,
    FollowupEvalID: '',
    PreemptedAllocations: [],
    PreemptedByAllocation: '',
    SigningKeyID: '',
    CreateIndex: 0,
    ModifyIndex: 0,
    AllocModifyIndex: 0,
    CreateTime: FIXTURE_TIME_NS,
    ModifyTime: FIXTURE_TIME_NS,
    ...over,
  };
}

/** A pending `job-register` evaluation of job `web`. */
function anEval(over: Partial<Evaluation> = {}): Evaluation {
  return newEvaluation({
    ID: freshId(),
    Namespace: 'default',
    Priority: 50,
    Type: 'service',
    TriggeredBy: 'job-register',
    JobID: 'web',
    CreateTime: FIXTURE_TIME_NS,
    ...over,
  });
}

function aDeploymentState(over: Partial<DeploymentState> = {}): DeploymentState {
  return {
    AutoRevert: false,
    AutoPromote: false,
    ProgressDeadline: 10 * NS_PER_MINUTE,
    RequireProgressBy: null,
    Promoted: false,
    PlacedCanaries: [],
    DesiredCanaries: 0,
    DesiredTotal: 1,
    PlacedAllocs: 0,
    HealthyAllocs: 0,
    UnhealthyAllocs: 0,
    ...over,
  };
}

/** A running deployment of version 0 of job `web`, group `web`. */
function aDeployment(over: Partial<Deployment> = {}): Deployment {
  return {
    ID: freshId(),
    Namespace: 'default',
    JobID: 'web',
    JobVersion: 0,
    JobModifyIndex: 0,
    JobSpecModifyIndex: 0,
    JobCreateIndex: 0,
    IsMultiregion: false,
    TaskGroups: { web: aDeploymentState() },
    Status: 'running',
    StatusDescription: 'Deployment is running',
    EvalPriority: 50,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: FIXTURE_TIME_NS,
    ModifyTime: FIXTURE_TIME_NS,
    ...over,
  };
}

function aNamespace(over: Partial<Namespace> = {}): Namespace {
  return {
    Name: 'team',
    Description: '',
    Quota: '',
    Capabilities: null,
    NodePoolConfiguration: null,
    VaultConfiguration: null,
    ConsulConfiguration: null,
    Meta: null,
    Hash: '',
    CreateIndex: 0,
    ModifyIndex: 0,
    RequiredExtraClaims: null,
    OptionalExtraClaims: null,
    ...over,
  };
}

function aNodePool(over: Partial<NodePool> = {}): NodePool {
  return {
    Name: 'gpu',
    Description: '',
    Meta: null,
    SchedulerConfiguration: null,
    NodeIdentityTTL: 0,
    Hash: '',
    CreateIndex: 0,
    ModifyIndex: 0,
    ...over,
  };
}

function aServiceRegistration(over: Partial<ServiceRegistration> = {}): ServiceRegistration {
  return {
    ID: freshId(),
    ServiceName: 'web',
    Namespace: 'default',
    NodeID: uuid(0xa0de),
    Datacenter: 'dc1',
    JobID: 'web',
    AllocID: uuid(0xa110c),
    Tags: null,
    Address: '127.0.0.1',
    Port: 8080,
    CreateIndex: 0,
    ModifyIndex: 0,
    ...over,
  };
}

/** What the agent reports of `alloc`: running with its one task up, unless said otherwise. */
function aClientUpdate(
  alloc: Pick<Allocation, 'ID' | 'NodeID'>,
  over: Partial<ClientAllocUpdate> = {},
): ClientAllocUpdate {
  return {
    ID: alloc.ID,
    NodeID: alloc.NodeID,
    ClientStatus: 'running',
    ClientDescription: 'Tasks are running',
    TaskStates: {},
    NetworkStatus: null,
    DeploymentStatus: null,
    ModifyTime: FIXTURE_TIME_NS,
    ...over,
  };
}

/** Payload of a plan result in which nothing happens but what `over` says. */
function aPlanResult(over: Partial<TxnPayloads['ApplyPlanResults']> = {}): TxnPayloads['ApplyPlanResults'] {
  return {
    Job: null,
    AllocsUpdated: [],
    AllocsStopped: [],
    AllocsPreempted: [],
    Deployment: null,
    DeploymentUpdates: [],
    EvalID: '',
    PreemptionEvals: [],
    FollowupEvals: [],
    IneligibleNodes: [],
    UpdatedAt: FIXTURE_TIME_NS,
    ...over,
  };
}

/** Payload of a registration of `job`, without evaluation unless `over` gives one. */
function aRegistration(job: Job, over: Partial<TxnPayloads['JobRegister']> = {}): TxnPayloads['JobRegister'] {
  return {
    Job: job,
    Submission: null,
    EnforceIndex: false,
    JobModifyIndex: 0,
    PreserveCounts: false,
    PreserveResources: false,
    Eval: null,
    SubmissionFrom: null,
    TrackedVersions: 6,
    ...over,
  };
}

/** The transaction at `index`, written at the fixtures' time by a test service. */
function aTxn<T extends TxnType>(
  index: number,
  type: T,
  payload: TxnPayloads[T],
  over: Partial<DraftContext> = {},
): Txn {
  const draft = draftTxn(type, payload, {
    timeNs: FIXTURE_TIME_NS,
    requestId: `request-${index}`,
    actor: serviceActor('test'),
    ...over,
  });
  // The mapped union of `Txn` does not follow a generic T; the pair was made by draftTxn just above.
  return { ...draft, index } as Txn;
}

/** Applies one transaction at the next index of `machine`. */
function apply<T extends TxnType>(
  machine: StateMachine,
  type: T,
  payload: TxnPayloads[T],
  over: Partial<DraftContext> = {},
): Applied {
  return machine.apply(aTxn(machine.appliedIndex + 1, type, payload, over));
}

/** A state machine at index 1: namespace `default` and the built-in node pools. */
function aMachine(): StateMachine {
  const machine = new StateMachine();
  apply(machine, 'Initialise', {});
  return machine;
}

/** Registers `job` with a pending evaluation; answers both as stored. */
function aRegisteredJob(machine: StateMachine, job: Job = aJob()): { job: Job; evaluation: Evaluation } {
  const evaluation = anEval({ JobID: job.ID, Namespace: job.Namespace, Type: job.Type, Priority: job.Priority });
  apply(machine, 'JobRegister', aRegistration(job, { Eval: evaluation }));
  const stored = machine.tables.jobs.get(`${job.Namespace}/${job.ID}`);
  const storedEval = machine.tables.evals.get(evaluation.ID);
  if (!stored || !storedEval) throw new Error(`fixture job ${job.ID} was not registered`);
  return { job: stored, evaluation: storedEval };
}

/** Complete canonical objects for tests, here and in other packages. Every call makes new objects with new ids. */
export const fixtures = {
  timeNs: FIXTURE_TIME_NS,
  uuid,
  freshId,
  aTask,
  aGroup,
  aJob,
  aNode,
  anAlloc,
  anEval,
  aDeployment,
  aDeploymentState,
  aNamespace,
  aNodePool,
  aServiceRegistration,
  aSchedulerConfiguration: defaultSchedulerConfiguration,
  aClientUpdate,
  aPlanResult,
  aRegistration,
  aTxn,
  aMachine,
  aRegisteredJob,
  apply,
} as const;
