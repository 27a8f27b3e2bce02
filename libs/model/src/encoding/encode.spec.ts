import { describe, expect, it } from 'vitest';
import { newAllocation, type Allocation, type TaskState } from '../evaluations/allocation.js';
import { encodeAllocation, encodeAllocationStub } from './encode-allocation.js';
import { encodeEvaluation, encodeEvaluationStub } from './encode-evaluation.js';
import { encodeNode, encodeNodeStub } from './encode-node.js';
import { newEvaluation, type Evaluation } from '../evaluations/evaluation.js';
import type { Node } from '../nodes/node.js';
import type { NetworkResource } from '../nodes/resources.js';
import { newTaskEvent } from '../evaluations/task-event.js';

const network: NetworkResource = {
  Mode: '',
  Device: '',
  CIDR: '',
  IP: '10.0.0.1',
  Hostname: '',
  MBits: 0,
  DNS: null,
  ReservedPorts: null,
  DynamicPorts: [{ Label: 'http', Value: 20001, To: 0, HostNetwork: 'default', IgnoreCollision: false }],
  CNI: null,
};

function sampleAllocation(given: Partial<Allocation> = {}): Allocation {
  return newAllocation({
    ID: 'a1',
    EvalID: 'e1',
    Namespace: 'default',
    JobID: 'web',
    TaskGroup: 'app',
    Name: 'web.app[0]',
    NodeID: 'n1',
    NodeName: 'one',
    CreateTime: 1_755_779_638_123_000_000,
    AllocatedResources: {
      Tasks: {
        main: {
          Cpu: { CpuShares: 100, ReservedCores: null },
          Memory: { MemoryMB: 300, MemoryMaxMB: 0 },
          Networks: null,
          Devices: null,
        },
      },
      TaskLifecycles: { main: null },
      Shared: {
        Networks: [network],
        DiskMB: 300,
        Ports: [{ Label: 'http', Value: 20001, To: 0, HostIP: '10.0.0.1', IgnoreCollision: false }],
      },
    },
    ...given,
  });
}

function sampleEvaluation(given: Partial<Evaluation> = {}): Evaluation {
  return newEvaluation({
    ID: 'e1',
    Namespace: 'default',
    Priority: 50,
    Type: 'service',
    TriggeredBy: 'job-register',
    JobID: 'web',
    CreateTime: 1_755_779_638_123_000_000,
    ...given,
  });
}

function sampleNode(): Node {
  return {
    ID: 'n1',
    SecretID: 'a secret',
    Datacenter: 'dc1',
    Name: 'one',
    NodeClass: '',
    NodePool: 'default',
    HTTPAddr: '[::1]:4646',
    TLSEnabled: false,
    CgroupParent: '',
    Attributes: { 'os.name': 'debian', 'nomad.version': '1.10.5' },
    NodeResources: {
      Cpu: { CpuShares: 4000, TotalCpuCores: 4, ReservableCpuCores: null },
      Processors: { Topology: null },
      Memory: { MemoryMB: 8000 },
      Disk: { DiskMB: 10_000 },
      Devices: null,
      NodeNetworks: null,
      Networks: [network],
      MinDynamicPort: 20_000,
      MaxDynamicPort: 32_000,
    },
    ReservedResources: {
      Cpu: { CpuShares: 0, ReservedCpuCores: null },
      Memory: { MemoryMB: 0 },
      Disk: { DiskMB: 0 },
      Networks: { ReservedHostPorts: '' },
    },
    Links: {},
    Meta: {},
    ComputedClass: 'v1:1',
    DrainStrategy: null,
    SchedulingEligibility: 'eligible',
    Status: 'ready',
    StatusDescription: '',
    StatusUpdatedAt: 1,
    IdentitySigningKeyID: '',
    Events: [],
    Drivers: {},
    CSIControllerPlugins: {},
    CSINodePlugins: {},
    HostVolumes: {},
    GCVolumesOnNodeGC: false,
    HostNetworks: {},
    LastDrain: null,
    NodeMaxAllocs: 0,
    LastMissedHeartbeatIndex: 0,
    LastAllocUpdateIndex: 0,
    CreateIndex: 1,
    ModifyIndex: 2,
  };
}

describe('allocation', () => {
  it('API-700: the network status of an allocation is there with its first report, empty where it has no network of its own', () => {
    const of = (alloc: Partial<Allocation>) =>
      encodeAllocation(sampleAllocation(alloc), { withJob: false })['NetworkStatus'];
    expect(of({ TaskStates: {} })).toBeUndefined();
    const none = { InterfaceName: '', Address: '', AddressIPv6: '', DNS: null };
    const state = { State: 'running' } as TaskState;
    expect(of({ TaskStates: { main: { ...state, Events: [] } } })).toEqual(none);
    const own = { ...none, InterfaceName: 'eth0', Address: '172.26.64.5' };
    expect(of({ NetworkStatus: own })).toEqual(own);
  });

  it('API-17: an allocation leaves out every member that is zero', () => {
    const encoded = encodeAllocation(sampleAllocation(), { withJob: false });
    expect(Object.keys(encoded).toSorted()).toEqual(
      [
        'AllocatedResources',
        'ClientStatus',
        'CreateTime',
        'DesiredStatus',
        'EvalID',
        'ID',
        'JobID',
        'ModifyTime',
        'Name',
        'Namespace',
        'NodeID',
        'NodeName',
        'Resources',
        'SharedResources',
        'TaskGroup',
        'TaskResources',
      ].toSorted(),
    );
    const shared = JSON.parse(JSON.stringify(encoded['AllocatedResources'])).Shared;
    expect(shared.Ports).toEqual([{ Label: 'http', Value: 20001, HostIP: '10.0.0.1' }]);
    expect(shared.Networks).toEqual([
      { IP: '10.0.0.1', DynamicPorts: [{ Label: 'http', Value: 20001, HostNetwork: 'default' }] },
    ]);
  });

  it('API-15: a time in nanoseconds prints digit for digit', () => {
    const text = JSON.stringify(encodeAllocation(sampleAllocation(), { withJob: false }));
    expect(text).toContain('"CreateTime":1755779638123000000');
  });

  it('API-710: the older resource totals are never null', () => {
    const encoded = encodeAllocation(sampleAllocation(), { withJob: false });
    expect(encoded['Resources']).toMatchObject({ CPU: 100, MemoryMB: 300, DiskMB: 300 });
  });

  it('AG-2: an event that comes without a text gets one, and the stored event stays as it is', () => {
    const bare = { ...newTaskEvent('Terminated', 1, { exit_code: '3', signal: '9' }), DisplayMessage: '' };
    const alloc = sampleAllocation({
      TaskStates: {
        main: {
          State: 'dead',
          Failed: true,
          Restarts: 0,
          LastRestart: null,
          StartedAt: null,
          FinishedAt: null,
          Events: [bare],
          Paused: '',
        },
      },
    });
    const encoded = JSON.parse(JSON.stringify(encodeAllocation(alloc, { withJob: false })));
    expect(encoded.TaskStates.main.Events[0].DisplayMessage).toBe('Exit Code: 3, Signal: 9');
    expect(encoded.TaskStates.main.LastRestart).toBeNull();
    expect(bare.DisplayMessage).toBe('');
  });

  it('API-75: a stub has every member, resources only when asked for', () => {
    const stub = encodeAllocationStub(sampleAllocation(), { job: { Type: 'batch', Version: 3 } });
    expect(stub).toMatchObject({ JobType: 'batch', JobVersion: 3, FollowupEvalID: '', DeploymentStatus: null });
    expect(stub).not.toHaveProperty('AllocatedResources');
    expect(encodeAllocationStub(sampleAllocation(), { resources: true })).toHaveProperty('AllocatedResources');
    expect(encodeAllocationStub(sampleAllocation(), { taskStates: false })['TaskStates']).toBeNull();
  });
});

describe('evaluation', () => {
  it('EB-1: empty members are left out', () => {
    expect(encodeEvaluation(sampleEvaluation())).toEqual({
      ID: 'e1',
      Namespace: 'default',
      Priority: 50,
      Type: 'service',
      TriggeredBy: 'job-register',
      JobID: 'web',
      Status: 'pending',
      CreateTime: 1_755_779_638_123_000_000,
      ModifyTime: 1_755_779_638_123_000_000,
    });
  });

  it('EB-2: a stub has all members, a zero WaitUntil is null', () => {
    const stub = encodeEvaluationStub(sampleEvaluation());
    expect(Object.keys(stub)).toHaveLength(18);
    expect(stub).toMatchObject({ WaitUntil: null, NextEval: '' });
  });

  it('EB-4: the internal token is in no answer', () => {
    expect(JSON.stringify(encodeEvaluation(sampleEvaluation({ LeaderACL: 'hidden' })))).not.toContain('hidden');
  });
});

describe('node', () => {
  it('API-20: SecretID is blank and Drain is computed, on a copy', () => {
    const node = sampleNode();
    expect(encodeNode(node)).toMatchObject({ SecretID: '', Drain: false });
    expect(node.SecretID).toBe('a secret');
    node.DrainStrategy = { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
    expect(encodeNode(node)).toMatchObject({ Drain: true });
  });

  it('API-700: an encoded node has exactly the stored members and Drain', () => {
    const node = sampleNode();
    expect(Object.keys(encodeNode(node)).toSorted()).toEqual([...Object.keys(node), 'Drain'].toSorted());
  });

  it('a stub shows the host, the version and no secret', () => {
    const stub = encodeNodeStub(sampleNode());
    expect(stub).toMatchObject({ Address: '::1', Version: '1.10.5' });
    expect(stub).not.toHaveProperty('SecretID');
    expect(stub).not.toHaveProperty('NodeResources');
    expect(encodeNodeStub(sampleNode(), { os: true })['Attributes']).toEqual({ 'os.name': 'debian' });
  });

  it('PG-47: a node has the schemas of its drivers, and a stub does not', () => {
    const mock = { Attributes: {}, Detected: true, Healthy: true, HealthDescription: 'Healthy', UpdateTime: null };
    const node = { ...sampleNode(), Drivers: { mock, podman: { ...mock, TaskConfigSchema: '{}' } } };
    expect(encodeNode(node)['Drivers']).toEqual(node.Drivers);
    expect(encodeNodeStub(node)['Drivers']).toEqual({ mock, podman: mock });
  });
});
