import { afterEach, expect, it, vi } from 'vitest';
import { pollUntilDefined } from './waiting.js';

afterEach(() => void vi.restoreAllMocks());

it('what does not come is given up in time, also when the clock is set back', async () => {
  const now = Date.now();
  let looks = 0;
  const found = pollUntilDefined(() => {
    if (++looks === 2) vi.spyOn(Date, 'now').mockReturnValue(now - 3_600_000);
    return Promise.resolve(looks > 1_000 ? 'much too late' : undefined);
  }, 50);
  expect(await found).toBeUndefined();
});
