import type { HostVolume, Node } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { stickyClaims } from '../allocations/sticky-claims.js';

const { aClientUpdate, aGroup, aHostVolume, aJob, aMachine, anAlloc, aNode, aPlanResult, aRegisteredJob } = fixtures;
const { apply, aVolumeRequest, uuid } = fixtures;

const NODE = uuid(7);
const VOLUME = uuid(1);
const REPORTED = { HostVolumes: { data: { Name: 'data', Path: '/data', ReadOnly: false, ID: VOLUME } } };

function cluster() {
  const machine = aMachine();
  const node = (over: Partial<Node> = {}) =>
    apply(machine, 'NodeRegister', { Node: aNode({ ID: NODE, ...over }), CreateNodePool: true });
  const status = (Status: Node['Status']) =>
    apply(machine, 'NodeUpdateStatus', {
      NodeID: NODE,
      Status,
      UpdatedAt: 1,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
  const register = (over: Partial<HostVolume> = {}) =>
    apply(machine, 'HostVolumeRegister', {
      Volume: aHostVolume({ ID: VOLUME, NodeID: NODE, State: 'pending', ...over }),
    });
  const remove = (namespace = 'default') => apply(machine, 'HostVolumeDelete', { ID: VOLUME }, { namespace });
  const stored = () => machine.tables.host_volumes.get(`default/${VOLUME}`);
  /** Places an allocation whose group asks for the volume; answers its id. */
  const use = (source = 'data', PerAlloc = false) => {
    const request = aVolumeRequest({ Type: 'host', Source: source, PerAlloc });
    const { job, evaluation } = aRegisteredJob(machine, aJob({ TaskGroups: [aGroup({ Volumes: { data: request } })] }));
    const alloc = anAlloc({ ID: uuid(5), NodeID: NODE, Job: job });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    return alloc.ID;
  };
  const end = (ID: string) =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate({ ID, NodeID: NODE }, { ClientStatus: 'complete' })],
      Evals: [],
    });
  return { machine, node, status, register, remove, stored, use, end };
}

describe('host volumes', () => {
  it('VL-289: ready once recorded and reported, in whichever order', () => {
    const first = cluster();
    first.node();
    first.register();
    expect(first.stored()?.State).toBe('pending');
    first.node(REPORTED);
    expect(first.stored()?.State).toBe('ready');
    const second = cluster();
    second.node(REPORTED);
    second.register();
    expect(second.stored()?.State).toBe('ready');
  });

  it.each([
    ['is reported and the node ready', 'unavailable', REPORTED, 'ready', 'ready'],
    ['is reported and the node down', 'ready', REPORTED, 'down', 'unavailable'],
    ['is reported and the node out of sight', 'ready', REPORTED, 'disconnected', 'ready'],
    ['is not reported any more', 'ready', { HostVolumes: {} }, 'ready', 'unavailable'],
    [
      'is another one of its name',
      'pending',
      { HostVolumes: { data: { ...REPORTED.HostVolumes.data, ID: uuid(2) } } },
      'ready',
      'pending',
    ],
    ['was never reported', 'pending', { HostVolumes: {} }, 'ready', 'pending'],
  ] as const)('ST-35: when it %s: %s → %4$s', (_, before, report, status, after) => {
    const { machine, node, register, stored } = cluster();
    node({ Status: 'initializing' });
    register({ State: before });
    node({ ...report, Status: status });
    expect(stored()?.State).toBe(after);
    const { tableIndex } = machine.tables.host_volumes;
    node({ ...report, Status: status });
    expect(machine.tables.host_volumes.tableIndex).toBe(tableIndex);
  });

  it('API-405, ST-35, VL-277: also by a status update, as an event of the node', () => {
    const { node, register, status, stored } = cluster();
    node(REPORTED);
    register();
    const down = eventsOf(status('down'))?.Events.find(({ Topic }) => Topic === 'HostVolume');
    expect(down).toMatchObject({ Type: 'NodeStreamEvent', Key: VOLUME, Payload: { Volume: { State: 'unavailable' } } });
    status('ready');
    expect(stored()?.State).toBe('ready');
  });

  it('ST-35: it follows its node to another pool', () => {
    const { node, register, stored } = cluster();
    node(REPORTED);
    register({ NodePool: 'else' });
    expect(stored()?.NodePool).toBe('default');
    node({ ...REPORTED, NodePool: 'gpu' });
    expect(stored()?.NodePool).toBe('gpu');
  });

  it('type 75: namespace and node must exist; an update keeps where it began', () => {
    const { node, register, stored } = cluster();
    expect(register().verdict.error).toBe(`host volume ${VOLUME} has nonexistent node ID ${NODE}`);
    node();
    expect(register({ Namespace: 'gone' }).verdict.error).toContain('is in nonexistent namespace gone');
    const { index } = register();
    const again = register({ CapacityBytes: 9 });
    expect(stored()).toMatchObject({ CapacityBytes: 9, CreateIndex: index, ModifyIndex: again.index });
  });

  it('VL-292: it cannot be deleted while an allocation uses it that may still run', () => {
    const { node, register, remove, use, end, stored } = cluster();
    node(REPORTED);
    register();
    const alloc = use();
    expect(remove().verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: `could not delete volume ${VOLUME} in use by alloc ${alloc}`,
    });
    end(alloc);
    expect(remove('else').verdict.kind).toBe('noop');
    const deleted = eventsOf(remove())?.Events;
    expect(deleted).toMatchObject([{ Topic: 'HostVolume', Type: 'HostVolumeDeleted', Key: VOLUME }]);
    expect(stored()).toBeUndefined();
    expect(remove().verdict.kind).toBe('noop');
  });

  it('VL-292: the names of per_alloc count', () => {
    const { node, register, remove, use } = cluster();
    node();
    register({ Name: 'data[0]' });
    use('data', true);
    expect(remove().verdict.kind).toBe('refused');
  });

  it('GC-58 ND-141: a node that is collected takes along the volumes nobody may still use, if it was told to', () => {
    const { machine, node, register, stored, use, end } = cluster();
    node({ ...REPORTED, GCVolumesOnNodeGC: true });
    register();
    const alloc = use();
    apply(machine, 'NodeDeregister', { NodeID: NODE });
    expect(stored()).toBeDefined();
    node({ ...REPORTED, GCVolumesOnNodeGC: true });
    end(alloc);
    apply(machine, 'NodeDeregister', { NodeID: NODE });
    expect(stored()).toBeUndefined();
    const kept = cluster();
    kept.node(REPORTED);
    kept.register();
    apply(kept.machine, 'NodeDeregister', { NodeID: NODE });
    expect(kept.stored()).toBeDefined();
  });
});

describe('claims on host volumes', () => {
  const claimed = () => {
    const { machine, node } = cluster();
    node(REPORTED);
    const request = aVolumeRequest({ Type: 'host', Sticky: true });
    const { job, evaluation } = aRegisteredJob(machine, aJob({ TaskGroups: [aGroup({ Volumes: { data: request } })] }));
    let ids = 0;
    const place = (ID: string) => {
      const AllocsUpdated = [anAlloc({ ID, NodeID: NODE, Job: job })];
      const VolumeClaims = stickyClaims(machine.tables, job, AllocsUpdated, () => uuid(0x900 + ++ids));
      return apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated, EvalID: evaluation.ID, VolumeClaims }));
    };
    const claims = () => [...machine.tables.task_volume.all()];
    return { machine, place, claims };
  };

  it('ST-122: a new allocation takes the claim of its group on the volume over, which keeps its ID', () => {
    const { place, claims } = claimed();
    const first = place(uuid(11));
    const claim = { ID: uuid(0x901), VolumeID: VOLUME, VolumeName: 'data', CreateIndex: first.index };
    expect(claims()).toMatchObject([{ ...claim, AllocID: uuid(11), ModifyIndex: first.index }]);
    const second = place(uuid(12));
    expect(claims()).toMatchObject([{ ...claim, AllocID: uuid(12), ModifyIndex: second.index }]);
    const again = place(uuid(12));
    expect(again.changes.map(({ table }) => table)).not.toContain('task_volume');
  });

  it('type 77, VL-294: deleted by who has its namespace', () => {
    const { machine, place, claims } = claimed();
    place(uuid(11));
    const remove = (namespace: string) =>
      apply(machine, 'TaskGroupHostVolumeClaimDelete', { ID: uuid(0x901) }, { namespace }).verdict;
    const error = 'task group volume claim does not exist';
    expect(remove('team')).toEqual({ kind: 'refused', code: 'not-found', error });
    expect(remove('default').kind).toBe('accepted');
    expect([claims(), remove('default').error]).toEqual([[], error]);
  });
});
