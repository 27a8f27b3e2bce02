import { describe, expect, it } from 'vitest';
import { RefreshQueue } from './refresh-queue.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('reading anew what has become old', () => {
  it('asks once for many changes while an answer is under way, then once more', async () => {
    const asked: string[] = [];
    let answer = (): void => {};
    const queue = new RefreshQueue(
      (key) => {
        asked.push(key.join('/'));
        return new Promise((resolve) => (answer = resolve));
      },
      () => Promise.resolve(),
    );
    queue.add([['jobs']]);
    for (let change = 0; change < 100; change++) queue.add([['jobs']]);
    expect(asked).toEqual(['jobs']);
    answer();
    await settled();
    expect(asked).toEqual(['jobs', 'jobs']);
    answer();
    await settled();
    expect(asked).toHaveLength(2);
  });

  it('goes on after an answer that failed', async () => {
    let asked = 0;
    const queue = new RefreshQueue(
      () => {
        asked++;
        return Promise.reject(new Error('away'));
      },
      () => Promise.resolve(),
    );
    queue.add([['jobs']]);
    await settled();
    queue.add([['jobs']]);
    await settled();
    expect(asked).toBe(2);
  });
});
