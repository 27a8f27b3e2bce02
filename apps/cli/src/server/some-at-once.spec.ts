import { describe, expect, it } from 'vitest';
import { AT_ONCE, someAtOnce } from './some-at-once.js';

describe('some at once', () => {
  it('never more than the limit, all of them, in their order', async () => {
    let [now, most] = [0, 0];
    const results = await someAtOnce(
      Array.from({ length: 50 }, (_, n) => n),
      async (n) => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
        return n * 2;
      },
    );
    expect([most, results]).toEqual([AT_ONCE, Array.from({ length: 50 }, (_, n) => n * 2)]);
    expect(await someAtOnce([], () => Promise.reject(new Error('nobody')))).toEqual([]);
  });

  it('fails with what one of them fails with', async () => {
    const failing = someAtOnce([1, 2, 3], (n) => (n === 2 ? Promise.reject(new Error('two')) : Promise.resolve(n)));
    await expect(failing).rejects.toThrow('two');
  });
});
