import { describe, expect, it } from 'vitest';
import { frozen } from './frozen.js';
import { received } from './received.js';

const sent = {
  text: 'a',
  nothing: null,
  missing: undefined,
  list: [1, undefined, { deep: [true] }],
  endless: Number.POSITIVE_INFINITY,
  at: new Date(0),
  bytes: Buffer.from('ab'),
  known: new Map([[1, 2]]),
  act: () => {},
};

describe('what is received of a call', () => {
  it('is what its JSON says', () => {
    expect(received(sent)).toStrictEqual(JSON.parse(JSON.stringify(sent)));
    expect(received(undefined)).toBeNull();
  });

  it("is the receiver's own, but for what nobody can change", () => {
    const row = frozen({ ID: 'a', Tags: ['b'] });
    const rows = { own: { n: 1 }, row };
    const got = received(rows);
    got.own.n = 2;
    expect(rows.own.n).toBe(1);
    expect(got.row).toBe(row);
  });
});
