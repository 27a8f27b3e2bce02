import type { Allocation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { SharedMembers } from './shared-members.js';

const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

describe('members of rows that come one after the other', () => {
  it('what is the same at any depth is one object, what differs is not', () => {
    const sharing = new SharedMembers<{ a: object; b: { same: object; other: object } }>();
    const first = sharing.share({ a: { x: 1 }, b: { same: { y: [1, null] }, other: { z: 1 } } });
    const second = sharing.share({ a: { x: 1 }, b: { same: { y: [1, null] }, other: { z: 2 } } });
    expect(second).toEqual({ a: { x: 1 }, b: { same: { y: [1, null] }, other: { z: 2 } } });
    expect(second.a).toBe(first.a);
    expect(second.b.same).toBe(first.b.same);
    expect(second.b.other).not.toBe(first.b.other);
    expect(first.b.other).toEqual({ z: 1 });
  });

  it.each([
    [{ a: [] }, { a: {} }],
    [{ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }],
    [{ a: { x: 1 } }, { a: { x: 1, y: 1 } }],
    [{ a: { x: 1, y: 1 } }, { a: { x: 1 } }],
    [{ a: [1, 2] }, { a: [1] }],
    [{ a: null }, { a: {} }],
    [{ a: { x: 0 } }, { a: { x: null } }],
    [{ a: { x: '0' } }, { a: { x: 0 } }],
  ])('%j is followed by %j: each is as it came', (one, other) => {
    const sharing = new SharedMembers<object>();
    expect(JSON.stringify([sharing.share(copyOf(one)), sharing.share(copyOf(other))])).toBe(
      JSON.stringify([one, other]),
    );
  });

  it('allocations stay what they are, to the order of their members', () => {
    const sharing = new SharedMembers<Allocation>([['NodeID', 'NodeName']]);
    const rows = Array.from({ length: 50 }, (_, i) =>
      fixtures.anAlloc({ ID: `alloc-${i}`, NodeID: `node-${i % 7}`, ClientStatus: i % 3 ? 'running' : 'failed' }),
    );
    expect(rows.map((row) => JSON.stringify(sharing.share(copyOf(row))))).toEqual(
      rows.map((row) => JSON.stringify(row)),
    );
  });
});
