import { Watches, type WatchKey } from '@waybill/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { ResponseCache, type CachedRead } from './response-cache.js';
import { PrintedJson } from './printed-json.js';
import type { ReadResult } from './read-result.js';

const ROW: WatchKey = ['allocs', 'a1'];
const LIST: CachedRead = { watched: [['allocs', '*']], tables: ['allocs'], mayLag: false };
const OBJECT: CachedRead = { watched: [ROW], tables: [], mayLag: false };

/**
 * PostgreSQL with one table, whose changes are announced to one API later, in order. What a read sees is settled when it
 * begins; it ends when it may.
 */
class Projection {
  applied = 5;
  rows = ['a'];
  rowIndex = 5;
  reads = 0;
  points = 0;
  mayEnd: Promise<void> = Promise.resolve();
  /** No announcement comes any more. */
  isSilent = false;
  private announcedTo = 5;
  private readonly unannounced: { index: number; keys: readonly WatchKey[] }[] = [];
  private readonly waiting = new Set<() => void>();
  private readonly watches = new Watches({ after: () => () => {} });

  write(rows: string[], keys: readonly WatchKey[] = [ROW]): void {
    this.applied += 1;
    this.rows = rows;
    if (keys.includes(ROW)) this.rowIndex = this.applied;
    this.unannounced.push({ index: this.applied, keys });
  }

  announce(): void {
    const next = this.unannounced.shift();
    if (!next) return;
    this.announcedTo = next.index;
    this.watches.wake(next.keys);
    for (const wake of this.waiting) wake();
  }

  announceAll(): void {
    while (this.unannounced.length > 0) this.announce();
  }

  readonly changes = {
    readPoint: async () => {
      this.points += 1;
      return { applied: this.applied, tableIndexes: { allocs: this.rowIndex } };
    },
    announced: (index: number): Promise<boolean> =>
      new Promise((resolve) => {
        if (this.isSilent) resolve(this.announcedTo >= index);
        const look = (): void => {
          if (this.announcedTo < index) return;
          this.waiting.delete(look);
          resolve(true);
        };
        this.waiting.add(look);
        look();
      }),
    onChangeOf: (watched: readonly WatchKey[], run: () => void) => this.watches.listen(watched, run),
  };

  readonly query = async (): Promise<ReadResult> => {
    this.reads += 1;
    const seen = { index: this.rowIndex, value: this.rows, nextToken: '' };
    await this.mayEnd;
    return seen;
  };
}

let projection: Projection;
beforeEach(() => (projection = new Projection()));

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

async function shown(answer: Promise<ReadResult>): Promise<{ index: number; value: unknown }> {
  const { index, value } = await answer;
  if (!(value instanceof PrintedJson)) throw new Error('not printed');
  return { index, value: JSON.parse(value.text.toString()) };
}

function aCache(maxBytes?: number, maxResponses?: number) {
  const cache = new ResponseCache(projection.changes, maxBytes, maxResponses);
  const ask = (key: string, read: CachedRead = LIST): Promise<{ index: number; value: unknown }> =>
    shown(cache.getOrQuery(key, read, projection.query));
  return { cache, ask };
}

describe('cached responses', () => {
  it('are given again while nothing of them changes', async () => {
    const { ask } = aCache();
    const first = await ask('all');
    expect(await ask('all')).toEqual(first);
    expect(projection.reads).toBe(1);
  });

  it('are made anew after a change, at the new index', async () => {
    const { ask } = aCache();
    await ask('all');
    projection.write(['a', 'b']);
    projection.announceAll();
    expect(await ask('all')).toEqual({ index: 6, value: ['a', 'b'] });
    expect(projection.reads).toBe(2);
  });

  it('API-56: wait for the announcement of what PostgreSQL has already, as another API may have acknowledged it', async () => {
    const { ask } = aCache();
    await ask('a1', OBJECT);
    projection.write(['b']);
    const late = ask('a1', OBJECT);
    await settled();
    expect(projection.reads).toBe(1);
    projection.announceAll();
    expect(await late).toEqual({ index: 6, value: ['b'] });
  });

  it('API-56: do not count while announcements do not come', async () => {
    const { ask } = aCache();
    await ask('a1', OBJECT);
    projection.isSilent = true;
    projection.write(['b']);
    expect(await ask('a1', OBJECT)).toEqual({ index: 6, value: ['b'] });
    projection.write(['c']);
    expect(await ask('a1', OBJECT)).toEqual({ index: 7, value: ['c'] });
  });

  it('of one object stay while others change', async () => {
    const { ask } = aCache();
    await ask('a1', OBJECT);
    projection.write(['a'], [['allocs', 'a2']]);
    projection.announceAll();
    await ask('a1', OBJECT);
    expect(projection.reads).toBe(1);
  });

  it('API-54: of some rows of a table carry its index, also when other rows have changed', async () => {
    const { ask } = aCache();
    const part: CachedRead = { watched: [['allocs', 'job:j']], tables: ['allocs'], mayLag: false };
    await ask('of a job', part);
    projection.write(['a'], [ROW]);
    projection.announceAll();
    expect(await ask('of a job', part)).toEqual({ index: 6, value: ['a'] });
    expect(projection.reads).toBe(1);
  });

  it('API-57: that may lag ask nothing, and end with the announcement', async () => {
    const { ask } = aCache();
    const lagging = { ...OBJECT, mayLag: true };
    await ask('a1', lagging);
    projection.write(['b']);
    expect(await ask('a1', lagging)).toEqual({ index: 5, value: ['a'] });
    expect(projection.points).toBe(0);
    projection.announceAll();
    expect(await ask('a1', lagging)).toEqual({ index: 6, value: ['b'] });
  });

  it('end when PostgreSQL goes back, and when they are told to', async () => {
    const { cache, ask } = aCache();
    await ask('a1', OBJECT);
    await ask('a1', OBJECT);
    projection.applied = 4;
    await ask('a1', OBJECT);
    expect(projection.reads).toBe(2);
    cache.clear();
    await ask('a1', OBJECT);
    expect(projection.reads).toBe(3);
  });

  it('are not kept of what is not there', async () => {
    const { cache } = aCache();
    const missing = async (): Promise<ReadResult> => ({ index: ++projection.reads, value: undefined });
    await cache.getOrQuery('a1', OBJECT, missing);
    await cache.getOrQuery('a1', OBJECT, missing);
    expect(projection.reads).toBe(2);
  });

  it('of one request are not those of another', async () => {
    const { ask } = aCache();
    await ask('all');
    await ask('some');
    expect(projection.reads).toBe(2);
  });

  it('take no more than their bytes: what was not asked for longest goes first', async () => {
    const { ask } = aCache('["a"]'.length * 2);
    for (const key of ['x', 'y', 'x', 'z']) await ask(key);
    expect(projection.reads).toBe(3);
    await ask('x');
    expect(projection.reads).toBe(3);
    await ask('y');
    expect(projection.reads).toBe(4);
  });

  it('are so many and no more, however small', async () => {
    const { ask } = aCache(undefined, 2);
    for (const key of ['x', 'y', 'x', 'z', 'x', 'z']) await ask(key);
    expect(projection.reads).toBe(3);
    await ask('y');
    expect(projection.reads).toBe(4);
  });

  describe('while one is being made', () => {
    /** The first read is held up until `end`. */
    function heldUp() {
      const { cache, ask } = aCache();
      let end = (): void => {};
      projection.mayEnd = new Promise((resolve) => (end = resolve));
      return { cache, ask, end: () => end() };
    }

    it('is waited for by all who ask for the same', async () => {
      const { ask, end } = heldUp();
      const asked = ['all', 'all', 'all'].map((key) => ask(key));
      await settled();
      end();
      expect(await Promise.all(asked)).toEqual(Array.from({ length: 3 }, () => ({ index: 5, value: ['a'] })));
      expect(projection.reads).toBe(1);
    });

    it('is not kept if it changes meanwhile', async () => {
      const { ask, end } = heldUp();
      const early = ask('a1', OBJECT);
      projection.write(['b']);
      projection.announceAll();
      end();
      expect(await early).toEqual({ index: 5, value: ['a'] });
      expect(await ask('a1', OBJECT)).toEqual({ index: 6, value: ['b'] });
    });

    it('API-56: who comes after a write does not get what was read before it; all of them share the next', async () => {
      const { ask, end } = heldUp();
      const early = ask('all');
      projection.write(['a', 'b']);
      projection.announceAll();
      const late = [ask('all'), ask('all')];
      await settled();
      end();
      expect(await early).toEqual({ index: 5, value: ['a'] });
      expect(await Promise.all(late)).toEqual(Array.from({ length: 2 }, () => ({ index: 6, value: ['a', 'b'] })));
      expect(projection.reads).toBe(2);
    });

    it('and that fails, the next who asks tries again', async () => {
      const { cache, ask } = aCache();
      const failing = cache.getOrQuery('all', LIST, () => Promise.reject(new Error('no database')));
      await expect(failing).rejects.toThrow('no database');
      expect((await ask('all')).index).toBe(5);
    });
  });
});

/** Numbers from 0 to 1 that are the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'API-56: no read misses what PostgreSQL had when it came, in any order of writes, announcements and reads (seed %i)',
  async (seed) => {
    const random = seeded(seed);
    const { ask } = aCache();
    const reads: Promise<void>[] = [];
    for (let step = 0; step < 2_000; step++) {
      const chosen = random();
      if (chosen < 0.2) projection.write([`v${step}`], random() < 0.5 ? [ROW] : [['allocs', 'a2']]);
      else if (chosen < 0.45) projection.announce();
      else if (chosen < 0.6) await settled();
      else {
        const atLeast = projection.rowIndex;
        const read = random() < 0.5 ? ask('all') : ask('a1', OBJECT);
        reads.push(read.then(({ index }) => expect(index).toBeGreaterThanOrEqual(atLeast)));
      }
    }
    projection.announceAll();
    await Promise.all(reads);
    expect(projection.reads).toBeLessThan(reads.length);
  },
);
