import type { FollowOptions } from '@waybill/journal';
import { fixtures, StateMachine, type Txn } from '@waybill/state';
import { expect, it } from 'vitest';
import { replay } from './replay.js';

const TXNS: readonly Txn[] = [1, 2, 3].map((index) => fixtures.aTxn(index, 'Ignore', {}));

/** A log that hands its transactions over before its follower has begun, and counts the followers that still read. */
class EagerLog {
  reading = 0;
  silent = false;

  async follow(options: FollowOptions) {
    this.reading++;
    if (!this.silent) {
      const delivered = Promise.resolve(options.onTxns(TXNS.slice(options.from - 1), { live: false }));
      await delivered.catch((error: unknown) => options.onError(error as Error));
    }
    return { index: 0, caughtUp: Promise.resolve(0), stop: async () => void this.reading-- };
  }
}

it('applies the log up to an index, and leaves no follower behind', async () => {
  const log = new EagerLog();
  const machine = new StateMachine();
  const taken: number[] = [];
  const take = async (applied: readonly { index: number }[]) => void taken.push(...applied.map(({ index }) => index));
  expect((await replay(log, machine, 2, { take }))?.index).toBe(2);
  expect([machine.appliedIndex, taken, log.reading]).toEqual([2, [1, 2], 0]);
});

it('fails with what the taker fails with', async () => {
  const log = new EagerLog();
  const take = () => Promise.reject(new Error('it is full'));
  await expect(replay(log, new StateMachine(), 3, { take })).rejects.toThrow('it is full');
  expect(log.reading).toBe(0);
});

it('ends with the reason of its signal while it waits for the log', async () => {
  const log = new EagerLog();
  log.silent = true;
  const stopper = new AbortController();
  const replaying = replay(log, new StateMachine(), 3, { signal: stopper.signal });
  stopper.abort(new Error('the term is over'));
  await expect(replaying).rejects.toThrow('the term is over');
  expect(log.reading).toBe(0);
});
