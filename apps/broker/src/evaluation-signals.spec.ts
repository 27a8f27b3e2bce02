import { type Allocation, CLAIM_STATE, type CSIVolumeClaim, type Node } from '@waybill/model';
import { fixtures, type StateMachine, type TxnPayloads, type TxnType } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { signalsOf } from './evaluation-signals.js';

const { aClientUpdate, aMachine, anAlloc, aNode, aPlanResult, aRegisteredJob, apply } = fixtures;

let machine: StateMachine;
beforeEach(() => {
  machine = aMachine();
});

/** Whom the transaction wakes: classes, nodes and resources. */
function wakes<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = ''): string[] {
  return signalsOf(apply(machine, type, payload, { namespace }), machine.tables).flatMap((signal) => {
    if (signal.kind === 'unblockClass') return [`class ${signal.computedClass}`];
    if (signal.kind === 'unblockResources') return [...signal.names];
    return signal.kind === 'unblockNode' ? [`node ${signal.nodeId}`] : [];
  });
}

const register = (node: Node) => wakes('NodeRegister', { Node: node, CreateNodePool: false });
const status = ({ ID }: Node, Status: Node['Status']) =>
  wakes('NodeUpdateStatus', { NodeID: ID, Status, UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' });
const both = (node: Node) => [`class ${node.ComputedClass}`, `node ${node.ID}`];

describe('which transactions free capacity', () => {
  it('ND-38: a registration of a ready node wakes its class, of any other none', () => {
    const node = aNode({ Status: 'initializing', ComputedClass: 'v1:1' });
    expect(register(node)).toEqual([]);
    expect(register({ ...node, Status: 'ready' })).toEqual(['class v1:1']);
    expect(register({ ...node, Status: 'down' })).toEqual([]);
  });

  it('ND-56: a status written as ready wakes class and node, any other nobody', () => {
    const node = aNode({ Status: 'initializing' });
    register(node);
    expect(status(node, 'ready')).toEqual(both(node));
    for (const other of ['disconnected', 'initializing', 'down'] as const) expect(status(node, other)).toEqual([]);
  });

  it('ND-93 DR-9: becoming eligible wakes class and node, by switch or by the end of a drain', () => {
    const node = aNode();
    register(node);
    const eligibility = (Eligibility: Node['SchedulingEligibility']) =>
      wakes('NodeUpdateEligibility', { NodeID: node.ID, Eligibility, NodeEvent: null, UpdatedAt: 1 });
    expect([eligibility('ineligible'), eligibility('ineligible')]).toEqual([[], []]);
    expect(eligibility('eligible')).toEqual(both(node));
    expect(eligibility('eligible')).toEqual([]);
    const strategy = { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
    const drain = (DrainStrategy: typeof strategy | null, MarkEligible: boolean) =>
      wakes('NodeUpdateDrain', {
        NodeID: node.ID,
        DrainStrategy,
        MarkEligible,
        NodeEvent: null,
        UpdatedAt: 1,
        Meta: {},
        UpdatedBy: '',
      });
    expect([drain(strategy, false), drain(null, false)]).toEqual([[], []]);
    expect(drain(null, true)).toEqual(both(node));
  });

  it('ND-121: an allocation that ends by its agent’s word wakes class and node, once', () => {
    const node = aNode();
    register(node);
    const { job, evaluation } = aRegisteredJob(machine);
    const allocs = [1, 2].map(() => anAlloc({ Job: job, NodeID: node.ID }));
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: allocs, EvalID: evaluation.ID }));
    const report = (n: 0 | 1, ClientStatus: 'running' | 'complete' | 'failed') =>
      wakes('AllocClientUpdate', { Allocs: [aClientUpdate(allocs[n]!, { ClientStatus })], Evals: [] });
    expect(report(0, 'running')).toEqual([]);
    expect(report(0, 'complete')).toEqual(both(node));
    expect(report(0, 'complete')).toEqual([]);
    expect(report(1, 'failed')).toEqual(both(node));
  });

  it('EB-175 ST-65: a purge wakes the nodes of what had not ended: no agent’s word will come of it any more', () => {
    const node = aNode();
    register(node);
    const { job, evaluation } = aRegisteredJob(machine);
    const [ended, runs] = [1, 2].map(() => anAlloc({ Job: job, NodeID: node.ID })) as [Allocation, Allocation];
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [ended, runs], EvalID: evaluation.ID }));
    const Allocs = [aClientUpdate(ended, { ClientStatus: 'complete' }), aClientUpdate(runs)];
    apply(machine, 'AllocClientUpdate', { Allocs, Evals: [] });
    const deregister = (Purge: boolean) =>
      wakes(
        'JobDeregister',
        { JobID: job.ID, Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
        'default',
      );
    expect(deregister(false)).toEqual([]);
    expect(deregister(true)).toEqual(both(node));
  });
});

describe('which transactions bring a volume', () => {
  const VOLUME = 'csi-volume:default:data';
  const { aCSIClaim, aVolumeRegistration, aNodePlugin } = fixtures;

  it('VL-25, EB-183: registering it wakes those that miss it, deregistering it nobody', () => {
    const volumes = { Volumes: [aVolumeRegistration(), aVolumeRegistration({ ID: 'more' })] };
    expect(wakes('CSIVolumeRegister', volumes)).toEqual([VOLUME, 'csi-volume:default:more']);
    expect(wakes('CSIVolumeRegister', volumes)).toEqual([VOLUME, 'csi-volume:default:more']);
    expect(wakes('CSIVolumeDeregister', { VolumeIDs: ['data'], Force: false }, 'default')).toEqual([]);
  });

  it('VL-169: a claim that is freed wakes those that wait for the volume, every other step nobody', () => {
    register(aNode({ CSINodePlugins: { disks: aNodePlugin() } }));
    wakes('CSIVolumeRegister', { Volumes: [aVolumeRegistration()] });
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const step = (State: CSIVolumeClaim['State']) =>
      wakes('CSIVolumeClaim', { VolumeID: 'data', Claim: aCSIClaim({ AllocationID: alloc.ID, State }) }, 'default');
    const { taken, unpublishing, nodeDetached, readyToFree } = CLAIM_STATE;
    expect([step(taken), step(unpublishing), step(nodeDetached)]).toEqual([[], [], []]);
    expect(machine.tables.csi_volumes.get('default/data')?.WriteClaims).toHaveProperty(alloc.ID);
    expect(step(readyToFree)).toEqual([VOLUME]);
    expect(step(readyToFree)).toEqual([]);
  });
});
