import { expect, it } from 'vitest';
import { writeTimeoutMs } from './kv-lease-store.js';
import { RENEWALS_PER_TTL, TRUSTED_SHARE } from './lease.js';

it('a write may take the longer the longer the lease is, and leaves time for a second one', () => {
  expect(writeTimeoutMs(2_000)).toBe(700);
  expect(writeTimeoutMs(12_000)).toBe(3_000);
  for (const ttlMs of [3_000, 12_000, 60_000])
    expect(ttlMs / RENEWALS_PER_TTL + 2 * writeTimeoutMs(ttlMs)).toBeLessThanOrEqual(ttlMs * TRUSTED_SHARE);
});
