import { describe, expect, it } from 'vitest';
import { ListAnswers } from './list-answers.js';
import { PrintedJson } from './printed-json.js';

/** A table that counts how often it is listed. What a listing sees is settled when it begins; it ends when it may. */
function listed(maxBytes?: number, maxAnswers?: number) {
  const table = { index: 5, rows: ['a'], runs: 0, mayEnd: Promise.resolve() };
  const answers = new ListAnswers(async () => table.index, maxBytes, maxAnswers);
  const ask = async (key: string): Promise<unknown> => {
    const result = await answers.of(key, 'allocs', async () => {
      table.runs++;
      const seen = { index: table.index, value: table.rows, nextToken: '' };
      await table.mayEnd;
      return seen;
    });
    if (!(result.value instanceof PrintedJson)) throw new Error('not printed');
    return { index: result.index, value: JSON.parse(result.value.text.toString()) };
  };
  return { table, ask };
}

describe('answers of lists', () => {
  it('are given again while the table keeps its index', async () => {
    const { table, ask } = listed();
    const first = await ask('all');
    expect(await ask('all')).toEqual(first);
    expect(table.runs).toBe(1);
  });

  it('are made anew after a change, at the new index', async () => {
    const { table, ask } = listed();
    await ask('all');
    Object.assign(table, { index: 6, rows: ['a', 'b'] });
    expect(await ask('all')).toEqual({ index: 6, value: ['a', 'b'] });
    expect(table.runs).toBe(2);
  });

  it('of an empty table too, whose index is 0', async () => {
    const { table, ask } = listed();
    Object.assign(table, { index: 0, rows: [] });
    await ask('all');
    expect(await ask('all')).toEqual({ index: 0, value: [] });
    expect(table.runs).toBe(1);
  });

  it('of one request are not those of another', async () => {
    const { table, ask } = listed();
    await ask('all');
    await ask('some');
    expect(table.runs).toBe(2);
  });

  it('take no more than their bytes: what was not asked for longest goes first', async () => {
    const { table, ask } = listed('["a"]'.length * 2);
    for (const key of ['x', 'y', 'x', 'z']) await ask(key);
    expect(table.runs).toBe(3);
    await ask('x');
    expect(table.runs).toBe(3);
    await ask('y');
    expect(table.runs).toBe(4);
  });

  it('are so many and no more, however small', async () => {
    const { table, ask } = listed(undefined, 2);
    for (const key of ['x', 'y', 'x', 'z', 'x', 'z']) await ask(key);
    expect(table.runs).toBe(3);
    await ask('y');
    expect(table.runs).toBe(4);
  });

  describe('while one is being made', () => {
    /** The first listing is held up until `end`. */
    function heldUp() {
      const { table, ask } = listed();
      let end = (): void => {};
      table.mayEnd = new Promise((resolve) => (end = resolve));
      return { table, ask, end: () => end() };
    }

    it('is waited for by all who ask for the same', async () => {
      const { table, ask, end } = heldUp();
      const asked = ['all', 'all', 'all'].map(ask);
      end();
      expect(await Promise.all(asked)).toEqual(Array.from({ length: 3 }, () => ({ index: 5, value: ['a'] })));
      expect(table.runs).toBe(1);
    });

    it('API-56: who comes after a write does not get what was read before it; all of them share the next', async () => {
      const { table, ask, end } = heldUp();
      const early = ask('all');
      Object.assign(table, { index: 6, rows: ['a', 'b'] });
      const late = [ask('all'), ask('all')];
      end();
      expect(await early).toEqual({ index: 5, value: ['a'] });
      expect(await Promise.all(late)).toEqual(Array.from({ length: 2 }, () => ({ index: 6, value: ['a', 'b'] })));
      expect(table.runs).toBe(2);
    });

    it('and that fails, the next who asks tries again', async () => {
      const answers = new ListAnswers(async () => 1);
      const failing = answers.of('all', 'allocs', () => Promise.reject(new Error('no database')));
      await expect(failing).rejects.toThrow('no database');
      const query = async () => ({ index: 1, value: [], nextToken: '' });
      expect((await answers.of('all', 'allocs', query)).index).toBe(1);
    });
  });
});
