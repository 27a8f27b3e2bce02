import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { canonicalJson } from './canonical-json.js';
import { isSameJson } from './same-json.js';
import { StateMachine } from './state-machine.js';
import { TABLE_NAMES } from './tables.js';

const SEED = 20_261_127;

describe('whether two values are the same JSON', () => {
  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: undefined }, { b: undefined }, true],
    [{ a: undefined }, { b: 1 }, false],
    [{ a: null }, {}, false],
    [[undefined], [null], true],
    [[1], { 0: 1 }, false],
    [{}, [], false],
    [{ a: {} }, { a: null }, false],
    [{ a: '1' }, { a: 1 }, false],
    [[1, 2], [2, 1], false],
  ])('%j and %j: %s, as their texts say', (a, b, same) => {
    expect(isSameJson(a, b)).toBe(same);
    expect(canonicalJson(a) === canonicalJson(b)).toBe(same);
  });

  it(`is what canonical texts say, of every pair of neighbours of every table (seed ${SEED})`, () => {
    const machine = new StateMachine();
    for (const txn of fixtures.aRandomLog(SEED, 400)) machine.apply(txn);
    let compared = 0;
    const proven = new WeakMap<object, object>();
    for (const name of TABLE_NAMES) {
      const rows: object[] = [...machine.tables[name].all()];
      for (const [at, row] of rows.entries()) {
        const copy = JSON.parse(JSON.stringify(row)) as object;
        expect(isSameJson(row, copy, proven)).toBe(true);
        const next = rows[at + 1] ?? {};
        expect(isSameJson(row, next, proven)).toBe(canonicalJson(row) === canonicalJson(next));
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(50);
  });
});
