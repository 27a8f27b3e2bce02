import { FakeTime, settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { firstOpened, Gate, pause } from './gate.js';

/** CountedGate counts its waiters. */
class CountedGate extends Gate {
  waiters = 0;

  override whenOpen(run: () => void): () => void {
    this.waiters++;
    const forget = super.whenOpen(run);
    return () => {
      this.waiters--;
      forget();
    };
  }
}

describe('waiting for what may never happen', () => {
  it('a pause ends by time or by the first gate, and leaves nothing behind with a gate that stays shut', async () => {
    const time = new FakeTime();
    const [kill, skip] = [new CountedGate(), new CountedGate()];
    let ended = 0;
    const end = (): void => void ended++;
    for (let round = 0; round < 100; round++) {
      void pause(time, 10, kill, skip).then(end);
      await time.pass(10);
    }
    expect([ended, kill.waiters, skip.waiters]).toEqual([100, 0, 0]);
    void pause(time, 10, kill, skip).then(end);
    skip.open();
    await settle();
    expect([ended, kill.waiters]).toEqual([101, 0]);
    void pause(time, 10, kill, skip).then(end);
    await settle();
    expect([ended, kill.waiters]).toEqual([102, 0]);
    await time.pass(100);
    expect(ended).toBe(102);
  });

  it('the first gate that opens is enough, one that is open too', async () => {
    const kill = new CountedGate();
    for (let round = 0; round < 100; round++) {
      const moved = new Gate();
      const first = firstOpened(moved, kill);
      moved.open();
      await first;
    }
    expect(kill.waiters).toBe(0);
    const last = firstOpened(kill, new Gate());
    kill.open();
    await last;
    await firstOpened(new Gate(), kill);
    expect(kill.waiters).toBe(0);
  });
});
