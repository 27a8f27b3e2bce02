import { describe, expect, it } from 'vitest';
import { nextSteps, type RegionProgress, type RegionStep } from './next-region.js';

const NAMES = ['west', 'east', 'north'] as const;

/** `pending`, or with `+` behind it: it was started once. */
const regions = (...seen: string[]): RegionProgress[] =>
  seen.map((text, i) => ({
    name: NAMES[i] ?? '',
    status: text.replace('+', '') as RegionProgress['status'],
    hasRun: text.endsWith('+') || ['running', 'blocked', 'unblocking'].includes(text),
  }));

const steps = (own: number, seen: readonly string[], { maxParallel = 1, onFailure = '' } = {}): readonly RegionStep[] =>
  nextSteps(NAMES[own] ?? '', regions(...seen), { maxParallel, onFailure });

const run = (...names: string[]) => [{ do: 'run', regions: names }];

describe('whose turn it is', () => {
  it.each([
    [['pending', 'pending', 'pending'], 1, run('west')],
    [['pending', 'pending', 'pending'], 2, run('west', 'east')],
    [['pending', 'pending', 'pending'], 0, run('west', 'east', 'north')],
    [['running', 'pending', 'pending'], 1, []],
    [['blocked', 'pending', 'pending'], 1, run('east')],
    [['blocked', 'running', 'pending'], 2, run('north')],
    [['successful', 'pending', 'pending'], 1, run('east')],
    [['cancelled', 'pending', 'pending'], 1, run('east')],
  ] as const)('DP-1116: %j, at most %d at once', (seen, maxParallel, expected) => {
    expect(steps(1, seen, { maxParallel })).toEqual(expected);
  });

  it.each([
    [['pending', 'initializing', 'pending'], []],
    [['pending', 'pending', 'none'], []],
    [['pending', 'pending', 'unknown'], []],
    [['blocked', 'pending', 'none'], run('east')],
  ] as const)('DP-1115, DP-1130: nothing begins before every region is there: %j', (seen, expected) => {
    expect(steps(1, seen)).toEqual(expected);
  });

  it.each([
    [['blocked', 'unknown', 'pending'], 1, []],
    [['blocked', 'unknown', 'pending'], 2, run('north')],
  ] as const)(
    'DP-1131: one that does not answer holds its place: %j, at most %d at once',
    (seen, maxParallel, expected) => {
      expect(steps(2, seen, { maxParallel })).toEqual(expected);
    },
  );

  it.each([
    [['blocked', 'paused', 'pending'], []], // it waits at the one that was paused before its turn
    [['blocked', 'paused+', 'pending'], []],
    [['paused', 'pending', 'pending'], []],
  ] as const)('DP-1116: an operator has paused one: %j', (seen, expected) => {
    expect(steps(2, seen)).toEqual(expected);
  });

  it('DP-1116: beside one that is paused in its turn another goes on where there is room', () => {
    expect(steps(2, ['blocked', 'paused', 'pending'], { maxParallel: 2 })).toEqual(run('north'));
    expect(steps(2, ['blocked', 'paused+', 'pending'], { maxParallel: 2 })).toEqual(run('north'));
  });
});

describe('the end', () => {
  it.each([
    [['blocked', 'running', 'blocked'], []],
    [['blocked', 'blocked', 'unknown'], []],
    [['blocked', 'blocked', 'cancelled'], []], // DP-1126
    [['blocked', 'blocked', 'blocked'], [{ do: 'beginUnblocking' }]],
    [['blocked', 'unblocking', 'successful'], [{ do: 'beginUnblocking' }]],
    [['unblocking', 'blocked', 'successful'], [{ do: 'unblock', regions: ['east'] }]],
    [['unblocking', 'unblocking', 'successful'], [{ do: 'succeed' }]],
    [['unblocking', 'unknown', 'successful'], []],
    [['successful', 'blocked', 'blocked'], []],
  ] as const)('DP-1121, DP-1126, DP-1130: %j', (seen, expected) => {
    expect(steps(0, seen)).toEqual(expected);
  });

  it('DP-1137: one region alone needs no other', () => {
    expect(steps(0, ['initializing'])).toEqual([]);
    expect(steps(0, ['pending'])).toEqual(run('west'));
    expect(steps(0, ['blocked'])).toEqual([{ do: 'beginUnblocking' }]);
    expect(steps(0, ['unblocking'])).toEqual([{ do: 'succeed' }]);
  });
});

describe('a region fails', () => {
  const fail = [{ do: 'fail' }];
  it.each([
    ['', 0, ['blocked', 'failed', 'pending'], []],
    ['', 2, ['blocked', 'failed', 'pending'], fail],
    ['', 0, ['running', 'failed', 'pending'], []],
    ['fail_all', 0, ['blocked', 'failed', 'pending'], fail],
    ['fail_all', 2, ['blocked', 'failed', 'pending'], fail],
    ['fail_all', 0, ['successful', 'failed', 'pending'], []],
    ['fail_local', 0, ['blocked', 'failed', 'pending'], run('north')],
    ['fail_local', 2, ['blocked', 'failed', 'pending'], run('north')],
    ['fail_local', 0, ['blocked', 'failed', 'blocked'], []], // DP-1124: until an operator unblocks
  ] as const)('DP-1123, DP-1124: on_failure "%s", region %d of %j', (onFailure, own, seen, expected) => {
    expect(steps(own, seen, { onFailure })).toEqual(expected);
  });

  it('DP-1124: no region after the one that failed is started, not even for a moment', () => {
    expect(steps(0, ['pending', 'failed', 'pending'], { maxParallel: 0 })).toEqual(run('west'));
  });
});

/** Numbers in [0, 1) by seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('several regions decide at once', () => {
  it.each([1, 2])(
    'DP-1120: by views of any age, while an operator pauses and resumes, no more than %d are started and unfinished',
    (maxParallel) => {
      let turns = 0;
      const tooMany: number[] = [];
      const outOfOrder: number[] = [];
      for (let seed = 1; seed <= 3_000; seed++) {
        const random = seeded(seed);
        const pick = (n: number): number => Math.floor(random() * n);
        const real = regions('pending', 'pending', 'pending').map((region) => ({ ...region }));
        const views = [0, 2].map((own) => ({ own, seen: real.map((region) => ({ ...region })) }));
        for (let step = 0; step < 60; step++) {
          const region = real[pick(real.length)]!;
          const view = views[pick(views.length)]!;
          const happening = pick(5);
          if (happening === 0 && region.status === 'running') Object.assign(region, { status: 'blocked' });
          else if (happening === 1 && ['pending', 'running'].includes(region.status))
            Object.assign(region, { status: 'paused' });
          else if (happening === 2 && region.status === 'paused')
            Object.assign(region, { status: region.hasRun ? 'running' : 'pending' });
          else if (happening === 3) view.seen[real.indexOf(region)] = { ...region };
          else if (happening === 4) {
            view.seen[view.own] = { ...real[view.own]! };
            for (const next of nextSteps(NAMES[view.own]!, view.seen, { maxParallel, onFailure: '' }))
              for (const name of next.do === 'run' ? next.regions : []) {
                const started = real.find((candidate) => candidate.name === name)!;
                if (started.status !== 'pending') continue; // DP-1114: it says so itself
                Object.assign(started, { status: 'running', hasRun: true });
                turns++;
              }
          }
          const open = real.filter(({ status, hasRun }) => hasRun && status !== 'blocked').length;
          if (open > maxParallel) tooMany.push(seed);
          // With one at a time nobody passes a region that is paused before its turn.
          if (maxParallel === 1 && real.some(({ hasRun }, i) => hasRun && i > 0 && !real[i - 1]!.hasRun))
            outOfOrder.push(seed);
        }
      }
      expect({ tooMany, outOfOrder }).toEqual({ tooMany: [], outOfOrder: [] });
      expect(turns).toBeGreaterThan(3_000);
    },
  );
});
