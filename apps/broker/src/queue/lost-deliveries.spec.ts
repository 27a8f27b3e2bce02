import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { LOOK_EVERY_MS, LOOKS_TO_BE_SURE, LostDeliveries } from './lost-deliveries.js';

let time: SimulatedTime;
/** Tokens of the deliveries in progress. */
let lasting: Set<string>;
let givenBack: string[];
let lost: LostDeliveries;
/** Tokens whose workers cannot be found. */
let gone: Set<string>;
let looks: string[];

beforeEach(() => {
  time = new SimulatedTime();
  [lasting, gone] = [new Set(), new Set()];
  [givenBack, looks] = [[], []];
  lost = new LostDeliveries({
    timers: time,
    lasts: (_, token) => lasting.has(token),
    giveBack: (evalId, token) => {
      givenBack.push(`${evalId} ${token}`);
      lasting.delete(token);
    },
  });
});

function hand(token: string): void {
  lasting.add(token);
  lost.begin(`worker of ${token}`, 'eval', token, (ifGone) => {
    looks.push(token);
    if (gone.has(token)) ifGone();
  });
}

describe('workers that are gone', () => {
  it('lose what they have in hand, once they are missed several times in a row, and only they', () => {
    hand('here');
    hand('lost');
    gone.add('lost');
    time.advance(LOOKS_TO_BE_SURE * LOOK_EVERY_MS - 1);
    expect(givenBack).toEqual([]);
    time.advance(1);
    expect(givenBack).toEqual(['eval lost']);
    time.advance(60_000);
    expect(givenBack).toEqual(['eval lost']);
  });

  it('that are back in time keep it', () => {
    hand('a');
    gone.add('a');
    time.advance((LOOKS_TO_BE_SURE - 1) * LOOK_EVERY_MS);
    gone.delete('a');
    time.advance(LOOK_EVERY_MS);
    gone.add('a');
    time.advance((LOOKS_TO_BE_SURE - 1) * LOOK_EVERY_MS);
    expect(givenBack).toEqual([]);
    time.advance(LOOK_EVERY_MS);
    expect(givenBack).toEqual(['eval a']);
  });

  it('are not looked for when their delivery has ended, and nothing is kept of it', () => {
    hand('a');
    expect(lost.size).toBe(1);
    lasting.delete('a');
    time.advance(LOOK_EVERY_MS);
    expect({ looks, size: lost.size, timers: time.armedCount }).toEqual({ looks: [], size: 0, timers: 0 });
    hand('b');
    time.advance(LOOK_EVERY_MS);
    expect(looks).toEqual(['b']);
  });

  it('lose at once what they have in hand when they ask for work: its answer was lost', () => {
    hand('a');
    hand('b');
    lost.isEmptyHanded('worker of a');
    expect(givenBack).toEqual(['eval a']);
    lost.isEmptyHanded('worker of a');
    lasting.delete('b');
    lost.isEmptyHanded('worker of b');
    lost.isEmptyHanded('a stranger');
    expect(givenBack).toEqual(['eval a']);
  });

  it('are forgotten with the term', () => {
    hand('a');
    lost.clear();
    expect({ size: lost.size, timers: time.armedCount }).toEqual({ size: 0, timers: 0 });
    hand('b');
    expect(time.armedCount).toBe(1);
  });
});
