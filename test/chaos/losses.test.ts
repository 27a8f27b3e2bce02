import { describe, expect, it } from 'vitest';
import { nextCut, unsyncedAtMostMs } from './fault-plan.js';
import type { FinalState, History, PowerCut, Write } from './history.js';
import { judge } from './judge.js';
import { countLost, losses } from './losses.js';

const write = (mark: number, answeredMs: number, over: Partial<Write> = {}): Write => ({
  job: 'web',
  verb: 'register',
  mark,
  count: 0,
  ending: 'acknowledged',
  modifyIndex: mark * 10,
  asked: { sentMs: answeredMs - 5, answeredMs },
  ...over,
});
const cut = (over: Partial<PowerCut> = {}): PowerCut => ({
  syncedMs: 1_000,
  cutMs: 1_100,
  decidedMs: 1_150,
  lines: { from: 0, to: 0 },
  named: [],
  adoptions: 1,
  ...over,
});
const history = (over: Partial<History>): History => ({
  writes: [],
  reads: [],
  dispatches: [],
  lines: [],
  cuts: [cut()],
  ...over,
});
const final = (over: Partial<FinalState>): FinalState => ({
  jobs: [],
  children: {},
  living: new Set(),
  logged: new Map(),
  ...over,
});
const logged = (...all: (readonly [index: number, job: string, mark: number])[]) =>
  new Map(all.map(([index, job, mark]) => [index, { job, mark }]));
const found = (seen: Partial<History>, left: Partial<FinalState> = {}) =>
  losses(history(seen), final(left)).findings.map(({ kind, text }) => `${kind}: ${text}`);

describe('what power cuts took', () => {
  it('may be what was acknowledged after the last sync, if it was named', () => {
    const seen = { writes: [write(1, 900), write(2, 1_050)], cuts: [cut({ named: [20] })] };
    const left = { logged: logged([10, 'web', 1]) };
    expect(found(seen, left)).toEqual([]);
    expect(losses(history(seen), final(left)).history.writes).toEqual([seen.writes[0]]);
    expect(countLost(history(seen), final(left))).toBe(1);
  });

  it('is never what was on the disk', () => {
    expect(found({ writes: [write(1, 900)], cuts: [cut({ named: [10] })] })).toEqual([
      'lost: job web: index 10 was acknowledged, synced, and is gone',
    ]);
    const sentLater = write(1, 1_300, { asked: { sentMs: 1_200, answeredMs: 1_300 } });
    expect(found({ writes: [sentLater], cuts: [cut({ named: [10] })] })).toHaveLength(1);
    // With `sync_interval: always` nothing may be lost.
    expect(found({ writes: [write(1, 1_050)], cuts: [cut({ syncedMs: Infinity, named: [10] })] })).toHaveLength(1);
  });

  it('is no registration that was tried twice and is there once', () => {
    const left = { logged: logged([8, 'web', 2]) };
    expect(found({ writes: [write(2, 900)] }, left)).toEqual([]);
  });

  it('is named, and nothing else is', () => {
    expect(found({ writes: [write(2, 1_050)] })).toEqual(['unnamed: job web: index 20 is lost, and was not named']);
    const left = { logged: logged([20, 'web', 2]) };
    expect(found({ writes: [write(2, 1_050)], cuts: [cut({ named: [20] })] }, left)).toEqual([
      'unnamed: job web: index 20 was named lost and is there',
    ]);
    const another = { logged: logged([20, 'other', 2]) };
    expect(found({ writes: [write(2, 1_050)] }, another)).toHaveLength(1);
  });

  it('is no more what must be there, be read on, or have been begun', () => {
    const seen = {
      writes: [write(1, 900, { count: 1 }), write(2, 1_050, { count: 1 })],
      reads: [
        { job: 'web', mark: 2, index: 20, atMs: 1_060 },
        { job: 'web', mark: 1, index: 10, atMs: 1_200 },
      ],
      dispatches: [{ token: 't', child: 'c', index: 21, asked: { sentMs: 1_045, answeredMs: 1_060 } }],
      lines: [
        { job: 'web', alloc: 'a', pid: 7, what: 'begun' as const },
        { job: 'batch', alloc: 'gone', pid: 8, what: 'begun' as const },
        { job: 'batch', alloc: 'b', pid: 9, what: 'begun' as const },
        { job: 'batch', alloc: 'b', pid: 9, what: 'ended' as const },
      ],
      cuts: [cut({ named: [20, 21], lines: { from: 1, to: 2 } })],
    };
    const service = { id: 'web', mark: 1, stopped: false, isBatch: false, count: 1 };
    const batch = { id: 'batch', mark: undefined, stopped: false, isBatch: true, count: 1 };
    const alloc = (id: string, client: string) => ({ id, desired: 'run', client });
    const left = final({
      jobs: [
        { ...service, allocs: [alloc('a', 'running')] },
        { ...batch, allocs: [alloc('b', 'complete')] },
      ],
      living: new Set([7]),
      logged: logged([10, 'web', 1]),
    });
    expect(judge(history(seen), left)).toEqual([]);
    const back = { job: 'web', mark: 1, index: 9, atMs: 1_300 };
    expect(judge(history({ ...seen, reads: [...seen.reads, back] }), left)).toMatchObject([{ kind: 'order' }]);
    const later = { ...seen, cuts: [cut({ named: [20, 21], lines: { from: 0, to: 1 } })] };
    expect(judge(history(later), left)).toEqual([{ kind: 'double', text: 'job batch was begun 2 times instead of 1' }]);
  });
});

it('a cut takes at most what the sync interval leaves unsynced', () => {
  expect(unsyncedAtMostMs('always')).toBe(0);
  expect(unsyncedAtMostMs('250ms')).toBe(250);
  expect(() => unsyncedAtMostMs('2m')).toThrow(RangeError);
  expect(nextCut(() => 0.999, 100)).toMatchObject({ kind: 'cut', unsyncedMs: 100 });
  expect(nextCut(() => 0.5, 0)).toMatchObject({ kind: 'cut', unsyncedMs: 0 });
});
