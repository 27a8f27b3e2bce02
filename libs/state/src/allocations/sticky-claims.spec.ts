import type { Allocation, Job, VolumeRequest } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { stickyClaims } from './sticky-claims.js';

const { aGroup, aJob, aMachine, anAlloc, aNode, aPlanResult, aRegisteredJob, apply, aVolumeRequest } = fixtures;

const sticky = (over: Partial<VolumeRequest> = {}) =>
  aVolumeRequest({ Type: 'host', Source: 'data', Sticky: true, ...over });
const jobWith = (...groups: (Record<string, VolumeRequest> | null)[]): Job =>
  aJob({ TaskGroups: groups.map((Volumes, at) => aGroup({ Name: `g${at}`, Volumes })) });

/** The claims that a plan of these new allocations takes, on a node that has the volumes `data` and `plain`. */
function claims(job: Job | null, allocs: Partial<Allocation>[], stored: Partial<Allocation>[] = []) {
  const machine = aMachine();
  const volume = (ID: string) => ({ Path: '/srv', ReadOnly: false, ID });
  const node = aNode({ HostVolumes: { data: volume('v-1'), plain: volume('') } } as never);
  apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const placed = [...stored, ...allocs].map((over) => anAlloc({ Job: job, TaskGroup: 'g0', NodeID: node.ID, ...over }));
  if (stored.length > 0) {
    const { evaluation } = aRegisteredJob(machine, job!);
    const AllocsUpdated = placed.slice(0, stored.length);
    apply(machine, 'ApplyPlanResults', aPlanResult({ Job: job, AllocsUpdated, EvalID: evaluation.ID }));
  }
  let ids = 0;
  const taken = stickyClaims(machine.tables, job, placed, () => `claim-${ids++}`);
  return taken.map(({ ID, TaskGroupName, VolumeID, VolumeName, AllocID, CreateIndex, ModifyIndex }) => {
    expect([CreateIndex, ModifyIndex]).toEqual([0, 0]);
    return { ID, TaskGroupName, VolumeID, VolumeName, at: placed.findIndex((alloc) => alloc.ID === AllocID) };
  });
}
const CLAIM = { ID: 'claim-0', TaskGroupName: 'g0', VolumeID: 'v-1', VolumeName: 'data', at: 0 };

describe('claims on sticky host volumes (VL-294)', () => {
  it('VL-294: each new allocation claims what its group asks for and its node has, in the order of the plan', () => {
    const job = jobWith({ data: sticky() });
    expect(claims(job, [{}, {}])).toEqual([CLAIM, { ...CLAIM, ID: 'claim-1', at: 1 }]);
  });

  it('ST-122: an allocation that is stored already claims nothing', () => {
    expect(claims(jobWith({ data: sticky() }), [{}], [{}])).toEqual([{ ...CLAIM, at: 1 }]);
  });

  it('VL-294: only sticky host volumes that have an ID are claimed', () => {
    const others = {
      csi: sticky({ Name: 'csi', Type: 'csi' }),
      loose: sticky({ Name: 'loose', Sticky: false }),
      absent: sticky({ Name: 'absent', Source: 'absent' }),
      plain: sticky({ Name: 'plain', Source: 'plain' }),
    };
    expect(claims(jobWith(others), [{}])).toEqual([]);
    expect(claims(jobWith({ ...others, data: sticky() }), [{}])).toEqual([CLAIM]);
  });

  it('VL-294: one group of several is enough, and groups without volumes claim none', () => {
    const job = jobWith(null, { loose: sticky({ Sticky: false }), data: sticky() });
    expect(claims(job, [{ TaskGroup: 'g0' }, { TaskGroup: 'g1' }])).toEqual([{ ...CLAIM, TaskGroupName: 'g1', at: 1 }]);
    expect(claims(jobWith(null), [{}])).toEqual([]);
    expect(claims(null, [])).toEqual([]);
  });

  it('VL-294: the job version of the allocation says what it asks for, else that of the plan', () => {
    const job = jobWith({ data: sticky() });
    expect(claims(job, [{ Job: jobWith(null) }, { Job: null, JobID: 'web' }])).toEqual([{ ...CLAIM, at: 1 }]);
  });
});
