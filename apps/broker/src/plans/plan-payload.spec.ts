import { type Allocation, type Evaluation, type Job, nsFromMs, type PlanResult, SimulatedTime } from '@waybill/model';
import { fixtures, type StateMachine } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { payloadOf } from './plan-payload.js';

let machine: StateMachine;
let job: Job;
let evaluation: Evaluation;
let time: SimulatedTime;
let ids: number;

beforeEach(() => {
  machine = fixtures.aMachine();
  fixtures.apply(machine, 'NodeRegister', { Node: fixtures.aNode({ ID: NODE }), CreateNodePool: true });
  ({ job, evaluation } = fixtures.aRegisteredJob(machine));
  time = new SimulatedTime();
  ids = 0;
});

const NODE = fixtures.uuid(0xa0de);
const nothing = fixtures.aCommittedPlan<Allocation>();
const payload = (over: Partial<PlanResult<Allocation>>, FollowupEvals: Evaluation[] = [], planned: Job | null = job) =>
  payloadOf(
    fixtures.aPlan({ EvalID: evaluation.ID, FollowupEvals }),
    planned,
    { ...nothing, ...over },
    { tables: machine.tables, clock: time, newId: () => `id-${++ids}` },
  );
const placing = (...allocs: Allocation[]) => ({ NodeAllocation: { [NODE]: allocs } });
const anAlloc = (over: Partial<Allocation> = {}): Allocation =>
  fixtures.anAlloc({ Job: job, JobID: job.ID, NodeID: NODE, ...over });
/** An allocation in the tables. */
function stored(over: Partial<Allocation> = {}): Allocation {
  const alloc = anAlloc(over);
  machine.tables.allocs.replace(alloc.ID, alloc);
  return alloc;
}

describe('EB-266: a plan that places', () => {
  it('needs the job it was made for, one that only stops does not', () => {
    expect(() => payload(placing(anAlloc()), [], null)).toThrow('plan missing embedded job');
    const stop = { ID: stored().ID, DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' } as const;
    expect(payload({ NodeUpdate: { [NODE]: [stop as never] } }, [], null)).toMatchObject({ Job: null });
  });

  it('needs the namespace of the job, one that places nothing does not', () => {
    const elsewhere = fixtures.aJob({ Namespace: 'gone' });
    expect(() => payload(placing(anAlloc()), [], elsewhere)).toThrow('namespace "gone" not found for job');
    expect(payload({}, [], elsewhere).Job).toBeNull();
  });
});

describe('EB-340: the job of the plan is carried once', () => {
  it('as a new allocation of its version has no job of its own', () => {
    const { Job, AllocsUpdated } = payload(placing(anAlloc()));
    expect([Job, AllocsUpdated[0]?.Job]).toEqual([job, null]);
  });

  it.each([
    ['another version', { Version: 7 }],
    ['a job of this name that was registered anew', { CreateIndex: 7_000 }],
  ])('an allocation of %s keeps its own', (_, over) => {
    const other = { ...job, ...over };
    expect(payload(placing(anAlloc({ Job: other }))).AllocsUpdated[0]?.Job).toEqual(other);
  });

  it('a stored allocation that stays at its version needs none, one that moves to the version of the plan does', () => {
    const old = { ...job, Version: job.Version + 1 };
    const alloc = stored({ Job: old });
    expect(payload(placing(alloc)).AllocsUpdated[0]?.Job).toBeNull();
    expect(payload(placing({ ...alloc, Job: job })).AllocsUpdated[0]?.Job).toEqual(job);
  });

  it('an allocation without a job stays without', () => {
    expect(payload(placing(anAlloc({ Job: null }))).AllocsUpdated[0]?.Job).toBeNull();
  });
});

describe('EB-22: of the follow-up evaluations it carries', () => {
  const named = fixtures.anEval({ TriggeredBy: 'alloc-failure' });
  const end = fixtures.anEval({ TriggeredBy: 'max-disconnect-timeout' });
  const other = fixtures.anEval({ TriggeredBy: 'alloc-failure' });

  it('those that a placed or stopped allocation names', () => {
    const stop = { ...stored(), FollowupEvalID: other.ID };
    const result = { ...placing(anAlloc({ FollowupEvalID: named.ID })), NodeUpdate: { [NODE]: [stop] } };
    expect(payload(result, [named, end, other]).FollowupEvals).toEqual([named, other]);
    expect(payload(placing(anAlloc()), [named, end, other]).FollowupEvals).toEqual([]);
  });

  it('SC-192: that of the end of a disconnect beside it, if any allocation is disconnected', () => {
    const lost = anAlloc({ ClientStatus: 'unknown', FollowupEvalID: named.ID });
    expect(payload(placing(anAlloc(), lost), [named, end, other]).FollowupEvals).toEqual([named, end]);
  });
});

describe('EB-280: one evaluation for each job that loses allocations by preemption', () => {
  it('with the job as it is, at the time of the plan', () => {
    const [a, b] = [stored(), stored()];
    expect(payload({ NodePreemptions: { [NODE]: [a, b] } }).PreemptionEvals).toEqual([
      expect.objectContaining({
        ID: 'id-1',
        JobID: job.ID,
        Namespace: 'default',
        TriggeredBy: 'preemption',
        Priority: job.Priority,
        CreateTime: nsFromMs(time.nowMs()),
      }),
    ]);
  });

  it('none of a job that is gone, or of an allocation that is', () => {
    const [orphan, unknown, kept] = [stored({ JobID: 'gone' }), anAlloc(), stored()];
    const { PreemptionEvals } = payload({ NodePreemptions: { [NODE]: [orphan, unknown, kept] } });
    expect(PreemptionEvals.map(({ JobID }) => JobID)).toEqual([job.ID]);
  });
});

it('VL-294: a claim is carried for each sticky volume that a new allocation takes, and no empty list otherwise', () => {
  expect(payload(placing(anAlloc()))).not.toHaveProperty('VolumeClaims');
  const request = fixtures.aVolumeRequest({ Type: 'host', Sticky: true, Source: 'disk' });
  const sticky = { ...job, TaskGroups: job.TaskGroups.map((group) => ({ ...group, Volumes: { data: request } })) };
  const volume = { Path: '/srv', ReadOnly: false, ID: 'volume-1' };
  machine.tables.nodes.replace(NODE, fixtures.aNode({ ID: NODE, HostVolumes: { disk: volume as never } }));
  const alloc = anAlloc({ Job: sticky });
  expect(payload(placing(alloc), [], sticky).VolumeClaims).toMatchObject([{ AllocID: alloc.ID, VolumeID: 'volume-1' }]);
});
