import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../sim/kernel/seeded-random.js';
import { LONGEST_DOWN_MS, LONGEST_FREEZE_MS, LONGEST_WRONG_MS, nextClockFault, nextFault } from './fault-plan.js';
import type { FinalJob, FinalState, History, Write } from './history.js';
import { judge } from './judge.js';

const write = (mark: number, over: Partial<Write> = {}): Write => ({
  job: 'web',
  verb: 'register',
  mark,
  count: 1,
  ending: 'acknowledged',
  modifyIndex: mark * 10,
  ...over,
});
const job = (over: Partial<FinalJob> = {}): FinalJob => ({
  id: 'web',
  mark: 1,
  stopped: false,
  isBatch: false,
  count: 1,
  allocs: [{ id: 'a', desired: 'run', client: 'running' }],
  ...over,
});
const line = (pid: number, over: object = {}) => ({ job: 'web', alloc: 'a', pid, what: 'begun' as const, ...over });
const judged = (history: Partial<History>, final: Partial<FinalState>) =>
  judge(
    { writes: [], reads: [], dispatches: [], lines: [], cuts: [], ...history },
    { jobs: [], children: {}, living: new Set(), logged: new Map(), ...final },
  ).map(({ kind, text }) => `${kind}: ${text}`);
const runs = { lines: [line(7)] };
const lives = { living: new Set([7]) };

describe('the judge of a run', () => {
  it('finds nothing where the last acknowledged write is there and runs once', () => {
    expect(judged({ ...runs, writes: [write(1)] }, { ...lives, jobs: [job()] })).toEqual([]);
  });

  it('finds a write that was acknowledged and is gone', () => {
    expect(judged({ writes: [write(1)] }, {})).toEqual(['lost: job web was acknowledged and is not there']);
    const overtaken = { ...lives, jobs: [job({ mark: 1 })] };
    expect(judged({ ...runs, writes: [write(1), write(2)] }, overtaken)).toEqual([
      'lost: job web should be register 2 and is 1',
    ]);
    const stop = write(2, { verb: 'stop' });
    expect(judged({ ...runs, writes: [write(1), stop] }, overtaken)).toEqual([
      'lost: job web should be stop 2 and is 1',
    ]);
  });

  it('lets a write be done or not of which nobody knows how it ended', () => {
    const unknown = { ...write(2), ending: 'unknown' as const, modifyIndex: undefined as never };
    for (const mark of [1, 2])
      expect(judged({ ...runs, writes: [write(1), unknown] }, { ...lives, jobs: [job({ mark })] })).toEqual([]);
    const refused = { ...write(2), ending: 'refused' as const, modifyIndex: undefined as never };
    expect(judged({ ...runs, writes: [write(1), refused] }, { ...lives, jobs: [job({ mark: 2 })] })).toHaveLength(1);
  });

  it('finds indexes and reads that go back', () => {
    const writes = [write(1), write(2, { modifyIndex: 10 })];
    expect(judged({ ...runs, writes }, { ...lives, jobs: [job({ mark: 2 })] })).toEqual([
      'order: job web: index 10 after 10',
    ]);
    const read = (mark: number | undefined, index: number) => ({ job: 'web', mark, index });
    expect(judged({ reads: [read(2, 5), read(1, 6)] }, {})).toEqual(['lost: job web: 1 was read after 2']);
    expect(judged({ reads: [read(2, 5), read(undefined, 6)] }, {})).toEqual([
      'lost: job web was read, and then was not there',
    ]);
    expect(judged({ reads: [read(2, 5), read(2, 4)] }, {})).toEqual(['order: job web was read at index 4 after 5']);
  });

  it('finds batch work that was begun twice, or not to its end, but for what a machine took with it', () => {
    const batch = (allocs: FinalJob['allocs'] = []) => ({ jobs: [job({ isBatch: true, allocs })] });
    const ended = line(7, { what: 'ended' });
    expect(judged({ lines: [line(7), ended] }, batch())).toEqual([]);
    expect(judged({ lines: [line(7), ended, line(8)] }, batch())).toEqual([
      'double: job web was begun 2 times instead of 1',
    ]);
    expect(judged({ lines: [line(7)] }, batch())).toEqual(['lost: job web did not come to its end']);
    expect(judged({}, batch())).toEqual(['lost: job web was begun 0 times only']);
    const failed = { id: 'a', desired: 'run', client: 'failed', failure: 'no room' };
    expect(judged({}, batch([failed, { ...failed, id: 'b' }]))).toEqual([
      'lost: job web was begun 0 times only: no room',
    ]);
    const lost = [{ id: 'a', desired: 'stop', client: 'lost' }];
    expect(judged({ lines: [line(7), line(8), line(8, { what: 'ended' })] }, batch(lost))).toEqual([]);
    // Its machine was away, and reported that it had ended after the work was placed again.
    const twice = { lines: [line(7), ended, line(8), line(8, { what: 'ended' })] };
    const back = { id: 'a', desired: 'stop', client: 'complete' };
    expect(judged(twice, batch([{ ...back, wasGivenUp: true }]))).toEqual([]);
    expect(judged(twice, batch([back]))).toEqual(['double: job web was begun 2 times instead of 1']);
  });

  it('finds services that live twice, not at all, or for nobody', () => {
    const two = { lines: [line(7), line(8)] };
    expect(judged(two, { living: new Set([7, 8]), jobs: [job()] })).toEqual(['double: job web: 2 live instead of 1']);
    expect(judged(runs, { jobs: [job()] })).toEqual(['lost: job web: 0 live instead of 1']);
    expect(judged(runs, { ...lives, jobs: [job({ stopped: true })] })).toEqual([
      'double: job web: 1 live instead of 0',
    ]);
    expect(judged(runs, { ...lives, jobs: [job({ allocs: [] })] })).toEqual([
      'leftover: web: a process of a, which does not run',
    ]);
    expect(judged(runs, lives)).toEqual(['leftover: process 7 of job web, which is not there']);
  });

  it('finds a token that made two jobs, or none', () => {
    const dispatches = [{ token: 't', child: 'c1' }];
    expect(judged({ dispatches }, { children: { t: ['c1'] } })).toEqual([]);
    expect(judged({ dispatches }, { children: { t: ['c1', 'c2'] } })).toEqual(['double: token t made c1 and c2']);
    expect(judged({ dispatches }, {})).toEqual(['lost: c1 was acknowledged and is not there']);
  });
});

it('the faults of a seed are the same each time, of both kinds, and within their limits', () => {
  const faults = (seed: string) => {
    const random = new SeededRandom(seed);
    return Array.from({ length: 200 }, () => nextFault(() => random.next(), ['a', 'b', 'c']));
  };
  expect(faults('1')).toEqual(faults('1'));
  expect(faults('1')).not.toEqual(faults('2'));
  expect(new Set(faults('1').map((one) => (one.kind === 'cut' ? 'cut' : `${one.kind} ${one.victim}`))).size).toBe(6);
  for (const fault of faults('1'))
    if (fault.kind === 'kill') expect(fault.downMs).toBeLessThanOrEqual(LONGEST_DOWN_MS);
    else if (fault.kind === 'freeze') expect(fault.frozenMs).toBeLessThanOrEqual(LONGEST_FREEZE_MS);
});

it('the wrong clocks of a seed are the same each time, of all kinds, and right again in time', () => {
  const random = new SeededRandom('1');
  const faults = Array.from({ length: 300 }, () => nextClockFault(() => random.next(), ['a', 'b', 'c']));
  expect(new Set(faults.map(({ aheadS, gain }) => `${aheadS} ${gain}`)).size).toBe(6);
  expect(new Set(faults.map(({ victim }) => victim)).size).toBe(3);
  for (const { wrongMs } of faults) expect(wrongMs).toBeLessThanOrEqual(LONGEST_WRONG_MS);
});
