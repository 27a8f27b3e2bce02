import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { AddressQuota, MAX_ADDRESSES } from './address-quota.js';

describe('how often something may happen for an address', () => {
  it('AU-8, AU-95: so often in any window, each address for itself', () => {
    const clock = new FakeTime();
    const quota = new AddressQuota({ most: 2, windowMs: 60_000, clock });
    expect(quota.waitMs('a')).toBe(0);
    quota.count('a');
    clock.freeze(20_000);
    quota.count('a');
    expect([quota.waitMs('a'), quota.waitMs('b')]).toEqual([40_000, 0]);
    clock.freeze(40_000);
    expect(quota.waitMs('a')).toBe(0);
    quota.count('a');
    expect(quota.waitMs('a')).toBe(20_000);
  });

  it('none is kept where any number may happen', () => {
    const quota = new AddressQuota({ most: 0, windowMs: 60_000, clock: new FakeTime() });
    for (let n = 0; n < 100; n++) quota.count('a');
    expect(quota.waitMs('a')).toBe(0);
  });

  it('of more addresses than are known, the one that was quiet the longest begins afresh', () => {
    const quota = new AddressQuota({ most: 1, windowMs: 60_000, clock: new FakeTime() });
    for (let n = 0; n <= MAX_ADDRESSES; n++) quota.count(String(n));
    expect([quota.waitMs('0'), quota.waitMs('1')]).toEqual([0, 60_000]);
  });
});
