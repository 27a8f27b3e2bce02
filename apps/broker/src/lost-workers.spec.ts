import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { CHECK_INTERVAL_MS, FAILED_CHECKS_LIMIT, LostWorkers } from './lost-workers.js';

let time: SimulatedTime;
/** Tokens of the deliveries in progress. */
let lasting: Set<string>;
let nacked: string[];
let lost: LostWorkers;
/** Tokens whose workers cannot be found. */
let gone: Set<string>;
let looks: string[];

beforeEach(() => {
  time = new SimulatedTime();
  [lasting, gone] = [new Set(), new Set()];
  [nacked, looks] = [[], []];
  lost = new LostWorkers({
    timers: time,
    isUnacked: (_, token) => lasting.has(token),
    nack: (evalId, token) => {
      nacked.push(`${evalId} ${token}`);
      lasting.delete(token);
    },
  });
});

function hand(token: string): void {
  lasting.add(token);
  lost.watch(`worker of ${token}`, 'eval', token, (ifGone) => {
    looks.push(token);
    if (gone.has(token)) ifGone();
  });
}

describe('workers that are gone', () => {
  it('lose what they have in hand, once they are missed several times in a row, and only they', () => {
    hand('here');
    hand('lost');
    gone.add('lost');
    time.advance(FAILED_CHECKS_LIMIT * CHECK_INTERVAL_MS - 1);
    expect(nacked).toEqual([]);
    time.advance(1);
    expect(nacked).toEqual(['eval lost']);
    time.advance(60_000);
    expect(nacked).toEqual(['eval lost']);
  });

  it('that are back in time keep it', () => {
    hand('a');
    gone.add('a');
    time.advance((FAILED_CHECKS_LIMIT - 1) * CHECK_INTERVAL_MS);
    gone.delete('a');
    time.advance(CHECK_INTERVAL_MS);
    gone.add('a');
    time.advance((FAILED_CHECKS_LIMIT - 1) * CHECK_INTERVAL_MS);
    expect(nacked).toEqual([]);
    time.advance(CHECK_INTERVAL_MS);
    expect(nacked).toEqual(['eval a']);
  });

  it('are not looked for when their delivery has ended, and nothing is kept of it', () => {
    hand('a');
    expect(lost.size).toBe(1);
    lasting.delete('a');
    time.advance(CHECK_INTERVAL_MS);
    expect({ looks, size: lost.size, timers: time.armedCount }).toEqual({ looks: [], size: 0, timers: 0 });
    hand('b');
    time.advance(CHECK_INTERVAL_MS);
    expect(looks).toEqual(['b']);
  });

  it('lose at once what they have in hand when they ask for work: its answer was lost', () => {
    hand('a');
    hand('b');
    lost.nackPreviousOf('worker of a');
    expect(nacked).toEqual(['eval a']);
    lost.nackPreviousOf('worker of a');
    lasting.delete('b');
    lost.nackPreviousOf('worker of b');
    lost.nackPreviousOf('a stranger');
    expect(nacked).toEqual(['eval a']);
  });

  it('are forgotten with the term', () => {
    hand('a');
    lost.clear();
    expect({ size: lost.size, timers: time.armedCount }).toEqual({ size: 0, timers: 0 });
    hand('b');
    expect(time.armedCount).toBe(1);
  });
});
