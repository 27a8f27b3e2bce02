import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { draftTxn, serviceActor } from './draft.js';
import { REQUEST_WINDOW_NS, RequestWindow, type SeenRequest, STALE_EPOCH } from './request-window.js';
import type { Txn } from './txn.js';

/** A naive implementation of the window (ST-6), without regard to cost. */
class Model {
  private list: SeenRequest[] = [];
  remember(entry: SeenRequest): void {
    this.list.push(entry);
    const kept = this.list.findIndex(({ timeNs }) => timeNs >= entry.timeNs - REQUEST_WINDOW_NS);
    this.list = this.list.slice(kept);
  }
  find(requestId: string): SeenRequest | undefined {
    return this.list.findLast((entry) => entry.requestId === requestId);
  }
  entries(): SeenRequest[] {
    return this.list.filter((entry) => this.find(entry.requestId) === entry);
  }
}

/** Numbers below 1, the same for one seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return (state >>> 0) / 2 ** 32;
  };
}

const asked = (requestId: string, timeNs: number): Txn => ({
  ...draftTxn('Initialise', {}, { timeNs, requestId, actor: serviceActor('test'), namespace: '' }),
  index: 1,
});

const REFUSED = { kind: 'refused', code: 'not-found', error: 'no such job' } as const;
const VOID = { kind: 'void', error: STALE_EPOCH } as const;

describe('the window of request ids', () => {
  it('ST-6: answers as a list would, while it grows, turns round, empties and shrinks', { timeout: 60_000 }, () => {
    const next = random(7);
    const window = new RequestWindow();
    const model = new Model();
    // How much of the window passes from one to the next: few entries, thousands, few again.
    const steps = [1 / 20, 1 / 2_500, 1 / 300, 1 / 40, 2];
    let [index, timeNs] = [0, fixtures.timeNs];
    for (const step of steps) {
      for (let i = 0; i < 4_000; i++) {
        index += 1;
        timeNs += REQUEST_WINDOW_NS * step * next() * 2;
        const requestId = `r${Math.floor(next() * 6_000)}`;
        const rejected = [null, null, null, REFUSED, VOID][Math.floor(next() * 5)] ?? null;
        expect(window.find(requestId)).toEqual(model.find(requestId));
        const entry = { requestId, index, timeNs, rejected };
        window.remember(entry);
        model.remember(entry);
        if (i % 500 === 0) expect([...window.entries()]).toEqual(model.entries());
      }
    }
    expect(window.size).toBe(1);
  });

  it('ST-6, ST-15: a second copy is told what became of the first, and no later than the window', () => {
    const window = new RequestWindow();
    const at = fixtures.timeNs;
    window.remember({ requestId: 'done', index: 4, timeNs: at, rejected: null });
    window.remember({ requestId: 'refused', index: 5, timeNs: at, rejected: REFUSED });
    window.remember({ requestId: 'late', index: 6, timeNs: at, rejected: VOID });
    const verdict = (requestId: string, timeNs = at) => window.verdictFor(asked(requestId, timeNs));
    expect(verdict('done')).toEqual({ kind: 'noop', result: { firstIndex: 4 } });
    expect(verdict('refused')).toEqual(REFUSED);
    expect(verdict('late')).toEqual(VOID);
    expect(verdict('other')).toBeUndefined();
    expect(verdict('done', at + REQUEST_WINDOW_NS)).toBeDefined();
    expect(verdict('done', at + REQUEST_WINDOW_NS + 1e9)).toBeUndefined();
  });

  it('ST-6: the newest entry is the one that was stored last, and none once there was none', () => {
    const window = new RequestWindow();
    expect(window.newestEntry).toBeUndefined();
    const entry = (n: number): SeenRequest => ({ requestId: `r${n}`, index: n, timeNs: n * 1e9, rejected: null });
    for (let n = 1; n <= 3; n++) {
      window.remember(entry(n));
      expect(window.newestEntry).toEqual(entry(n));
    }
    const late = { ...entry(4), timeNs: 4e9 + 2 * REQUEST_WINDOW_NS };
    window.remember(late);
    expect([window.newestEntry, window.size]).toEqual([late, 1]);
  });

  it('ST-6: a window that is exactly full has each entry once', () => {
    const window = new RequestWindow();
    const entries = Array.from({ length: 1_024 }, (_, n) => ({
      requestId: `r${n}`,
      index: n,
      timeNs: 1,
      rejected: null,
    }));
    for (const entry of entries) window.remember(entry);
    expect([...window.entries()]).toEqual(entries);
    const next = { requestId: 'next', index: 2_000, timeNs: 1, rejected: null }; // the window grows
    window.remember(next);
    expect([...window.entries()]).toEqual([...entries, next]);
    expect(window.find('r0')).toEqual(entries[0]);
  });

  it('ST-6: two request ids with the same hash are two', () => {
    const window = new RequestWindow();
    const entry = { requestId: 'request-941379', index: 1, timeNs: 1, rejected: null };
    window.remember(entry);
    expect(window.find('request-1334606')).toBeUndefined();
    window.remember({ ...entry, requestId: 'request-1334606', index: 2 });
    expect(['request-941379', 'request-1334606'].map((id) => window.find(id)?.index)).toEqual([1, 2]);
  });

  it('a transaction without an id is not remembered', () => {
    const window = new RequestWindow();
    window.remember({ requestId: '', index: 1, timeNs: 1, rejected: null });
    expect(window.size).toBe(0);
    expect(window.find('')).toBeUndefined();
  });
});
