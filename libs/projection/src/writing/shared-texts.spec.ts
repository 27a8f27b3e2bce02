import { describe, expect, it } from 'vitest';
import { SharedTexts } from './shared-texts.js';

const SEED = 20_261_121;

/** Numbers from 0 to 1, the same for a seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const PRIMITIVES = [null, true, false, 0, -0, 1.5e-7, 1795272574757000000, Number.NaN, '', 'plain', 'a"b', '\\', '\n'];
const STRINGS = ['é', '😀', '\ud83d', '\u2028', '\u007f', '\ue000', 'x'.repeat(300)];
/** Of an object that comes back in others: they would grow without end. */
const MAX_SEEN_LENGTH = 1_000;
const NAMES = ['ID', 'Name', 'Payload', 'a"b', 'é', '__proto__', '7'];

describe('SharedTexts', () => {
  it('writes what JSON.stringify writes, whatever came before', () => {
    const random = randomOf(SEED);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const seen: unknown[] = [...PRIMITIVES, ...STRINGS, undefined];
    const value = (depth: number): unknown => {
      if (depth === 0 || random() < 0.4) return pick(seen);
      const made =
        random() < 0.3 ? [value(depth - 1), value(depth - 1)].filter((one) => one !== undefined) : object(depth - 1);
      if (JSON.stringify(made).length < MAX_SEEN_LENGTH) seen.push(made);
      return made;
    };
    const object = (depth: number): object => {
      const made: Record<string, unknown> = {};
      for (let members = Math.floor(random() * 6); members > 0; members--)
        Object.defineProperty(made, pick(NAMES), {
          value: value(depth),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      return made;
    };
    const texts = new SharedTexts();
    for (let round = 0; round < 2_000; round++) {
      const one = object(3);
      const levels = 1 + (round % 3);
      expect(texts.textOf(one, levels), `seed ${SEED}, round ${round}`).toBe(JSON.stringify(one));
    }
  });

  it('writes out an object once that is a member of many', () => {
    let written = 0;
    const large = {
      text: 'x'.repeat(300),
      get counted() {
        written += 1;
        return written;
      },
    };
    const texts = new SharedTexts();
    const other = { ID: 'between' };
    for (let row = 0; row < 10; row++) {
      texts.textOf({ ID: row, Large: large });
      texts.textOf({ Topic: 'Allocation', Payload: { Allocation: { ID: row, Large: row % 2 ? large : other } } }, 3);
    }
    expect(written).toBe(1);
  });
});
