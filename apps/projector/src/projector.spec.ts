import type { Log } from '@waybill/journal';
import { FakeTime, settle } from '@waybill/model';
import { ProjectionMovedError } from '@waybill/projection';
import { draftTxn, serviceActor, type Txn } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { Projector } from './projector.js';
import type { ProjectionStore } from './projection-store.js';

/** A transaction that changes nothing. */
const txn = (index: number): Txn => {
  const meta = { timeNs: 0, requestId: String(index), actor: serviceActor('test') };
  return { ...draftTxn('NodeDeregister', { NodeID: 'nobody' }, meta), index };
};

it('OP-107: attempts that failed are counted, and what had to be read again', async () => {
  const time = new FakeTime();
  const txns = [1, 2, 3].map(txn);
  const log: Pick<Log, 'follow'> = {
    follow: async (options) => {
      const wanted = txns.filter(({ index }) => index >= options.from);
      void options.onTxns(wanted, { live: false });
      return { index: 0, caughtUp: Promise.resolve(3), stop: async () => {} };
    },
  };
  const failures = [new ProjectionMovedError(0, 1), Object.assign(new Error('it goes down'), { code: '57P01' })];
  const store: ProjectionStore = {
    load: async () => 0,
    write: async () => {
      const failure = failures.shift();
      if (failure) throw failure;
    },
  };
  const projector = new Projector({
    log: log as Log,
    events: { tail: async () => ({ sequence: 0, index: 0, part: 1, parts: 1 }), append: async () => 0 },
    store,
    announcer: { send: () => {} },
    clock: time,
    timers: time,
    logger: silentLogger,
  });
  projector.start({ isCurrent: () => true } as never);
  await settle();
  expect(projector.stats()).toMatchObject({ applyErrors: 1, redelivered: 0, txns: 0, sessions: 1 });
  await time.pass(1_000); // the second session: Postgres goes down once, and takes it then
  expect(projector.stats()).toMatchObject({ applyErrors: 2, redelivered: 3, txns: 3, sessions: 2 });
  await projector.stop();
});
