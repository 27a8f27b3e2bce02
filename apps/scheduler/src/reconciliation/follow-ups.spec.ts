import { NS_PER_SECOND, rfc3339FromNs } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { MIN_KILL_WAIT_NS, replaceableFrom } from './delayed-stop.js';
import { evalIdsOf, FollowUps } from './follow-ups.js';

const NOW_NS = fixtures.timeNs;
const S = NS_PER_SECOND;

describe('follow-up evaluations', () => {
  const covered = (...seconds: number[]) => {
    let ids = 0;
    const evaluation = fixtures.anEval({ ID: 'first', Priority: 70, Namespace: 'other' });
    const followUps = new FollowUps(evaluation, NOW_NS, () => `id-${++ids}`);
    const due = seconds.map((at) => ({ alloc: fixtures.anAlloc({ ID: `at-${at}` }), atNs: NOW_NS + at * S }));
    const job = { ID: 'web', Type: 'batch' as const, ModifyIndex: 9 };
    return { evalIds: evalIdsOf(followUps.cover(job, due, 'alloc-failure', 'later')), made: followUps.made };
  };

  it('SC-174: are shared by what is due within five seconds of the first, whatever the order', () => {
    const { evalIds, made } = covered(10, 4.999, 0, 5);
    expect(Object.fromEntries(evalIds)).toEqual({
      'at-0': 'id-1',
      'at-4.999': 'id-1',
      'at-5': 'id-2',
      'at-10': 'id-3',
    });
    expect(made.map(({ WaitUntil }) => WaitUntil)).toEqual([0, 5, 10].map((at) => rfc3339FromNs(NOW_NS + at * S)));
  });

  it('SC-175: are of the job, and follow the evaluation that made them', () => {
    expect(covered(0).made).toMatchObject([
      {
        ID: 'id-1',
        Namespace: 'other',
        Priority: 70,
        Type: 'batch',
        TriggeredBy: 'alloc-failure',
        JobID: 'web',
        JobModifyIndex: 9,
        StatusDescription: 'later',
        PreviousEval: 'first',
        CreateTime: NOW_NS,
      },
    ]);
    expect(covered().made).toEqual([]);
  });
});

describe('when a lost allocation may be replaced', () => {
  const lostAfter = (StopOnClientAfter: number | null, KillTimeouts: number[], states: [number, string][] = []) => {
    const Disconnect = { LostAfter: 0, StopOnClientAfter, Replace: true, Reconcile: '' };
    const Tasks = KillTimeouts.map((KillTimeout, i) => fixtures.aTask({ Name: `t${i}`, KillTimeout }));
    const alloc = fixtures.anAlloc({ Job: fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Disconnect, Tasks })] }) });
    const AllocStates = states.map(([at, Value]) => ({
      Field: 0 as const,
      Value,
      Time: rfc3339FromNs(NOW_NS + at * S),
    }));
    return replaceableFrom({ ...alloc, AllocStates }, NOW_NS);
  };

  it('SC-201: at once if its agent does not stop it by itself', () => {
    for (const stopAfter of [null, 0]) expect(lostAfter(stopAfter, [60 * S])).toBe(0);
    expect(replaceableFrom(fixtures.anAlloc({ Job: null }), NOW_NS)).toBe(0);
  });

  it('SC-201: once its agent has stopped it and killed its slowest task, which takes five seconds at least', () => {
    expect(lostAfter(S, [7 * S, 20 * S, 6 * S])).toBe(NOW_NS + 21 * S);
    expect(lostAfter(S, [2 * S])).toBe(NOW_NS + S + MIN_KILL_WAIT_NS);
    expect(MIN_KILL_WAIT_NS).toBe(5 * S);
  });

  it('SC-201: counted from when it was first noted as lost', () => {
    expect(
      lostAfter(
        S,
        [5 * S],
        [
          [-9, 'unknown'],
          [-4, 'lost'],
          [-2, 'lost'],
        ],
      ),
    ).toBe(NOW_NS + 2 * S);
    expect(lostAfter(S, [5 * S], [[-9, 'unknown']])).toBe(NOW_NS + 6 * S);
  });
});
