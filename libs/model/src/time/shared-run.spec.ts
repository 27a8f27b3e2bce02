import { describe, expect, it } from 'vitest';
import { SharedRun } from './shared-run.js';

/** Work that ends when the test says so. */
function work() {
  const runs: { end: () => void; fail: (error: Error) => void }[] = [];
  const shared = new SharedRun(
    () => new Promise<void>((resolve, reject) => runs.push({ end: () => resolve(), fail: reject })),
  );
  return { runs, shared };
}

describe('work that is shared', () => {
  it('those who come while one runs share the next, which begins when that has ended', async () => {
    const { runs, shared } = work();
    const first = shared.requestRun();
    const later = [shared.requestRun(), shared.requestRun()];
    expect(runs).toHaveLength(1);
    runs[0]!.end();
    await first;
    void shared.requestRun(); // as long as one waits there is no other
    await expect.poll(() => runs).toHaveLength(2);
    const last = shared.requestRun();
    expect(runs).toHaveLength(2);
    runs[1]!.end();
    await Promise.all(later);
    await expect.poll(() => runs).toHaveLength(3);
    runs[2]!.end();
    await last;
    expect([runs.length, shared.isIdle]).toEqual([3, true]);
  });

  it('a failure is heard by those whose run it was, and the next one takes place', async () => {
    const { runs, shared } = work();
    const first = shared.requestRun();
    const next = shared.requestRun();
    runs[0]!.fail(new Error('disk full'));
    await expect(first).rejects.toThrow('disk full');
    await expect.poll(() => runs).toHaveLength(2);
    runs[1]!.end();
    await next;
  });

  it('settled waits for what runs and what waits, and does not mind how it ends', async () => {
    const { runs, shared } = work();
    const asked = [shared.requestRun(), shared.requestRun()].map((one) => one.catch(() => 'failed'));
    let isSettled = false;
    const settled = shared.settled().then(() => (isSettled = true));
    runs[0]!.end();
    await asked[0];
    await expect.poll(() => runs).toHaveLength(2);
    expect(isSettled).toBe(false);
    runs[1]!.fail(new Error('disk full'));
    await settled;
    expect(await asked[1]).toBe('failed');
  });
});
