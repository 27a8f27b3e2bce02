import { FakeTime } from '@waybill/model';
import { Watches } from '@waybill/projection';
import { expect, it } from 'vitest';
import { LOOK_RETRY_MS, RestoreWatch } from './restore-watch.js';

it('OP-46, EV-75: a restore is known also where PostgreSQL could not be asked when it was announced', async () => {
  const time = new FakeTime();
  const watches = new Watches(time);
  const told: unknown[] = [];
  let restored = 0;
  let failure: Error | undefined;
  const restoredIndex = () => (failure ? Promise.reject(failure) : Promise.resolve(restored));
  const restores = new RestoreWatch(
    { watch: (keys) => watches.watch(keys) },
    { restoredIndex },
    () => told.push('restored'),
    (error) => told.push(error),
  );
  await restores.start();
  restored = 7;
  failure = new Error('PostgreSQL is away');
  watches.wakeAll();
  await time.pass(10 * LOOK_RETRY_MS);
  expect(told).toEqual([failure]);
  failure = undefined;
  await time.pass(LOOK_RETRY_MS);
  expect([told.at(-1), restores.index]).toEqual(['restored', 7]);
  restores.stop();
  await time.pass(0);
  expect([watches.size, time.pending]).toEqual([0, 0]);
});
