import type { Log } from '@waybill/journal';
import { FakeTime, settle } from '@waybill/model';
import { ProjectionMovedError } from '@waybill/projection';
import { draftTxn, serviceActor, type Txn } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { NO_FRAME } from './event-stream.js';
import { BATCH_INTERVAL_MS, Projector } from './projector.js';
import type { ProjectionStore } from './projection-store.js';

/** A transaction that changes nothing. */
const txn = (index: number): Txn => {
  const meta = { timeNs: 0, requestId: String(index), actor: serviceActor('test') };
  return { ...draftTxn('NodeDeregister', { NodeID: 'nobody' }, meta), index };
};

/** A projector of this log into this store, and nothing else. */
const projectorOf = (
  time: FakeTime,
  follow: Log['follow'],
  write: ProjectionStore['write'],
  batchIntervalMs?: number,
): Projector =>
  new Projector({
    log: { follow } satisfies Pick<Log, 'follow'> as Log,
    events: {
      tail: async () => ({ sequence: 0, end: 0, ...NO_FRAME }),
      onReturn: () => () => {},
      append: async () => 0,
      refusalOf: () => undefined,
    },
    store: { load: async () => 0, write, setAside: async () => 0, framedIndex: async () => 0 },
    onDiverged: () => {},
    announcer: { send: () => {} },
    clock: time,
    timers: time,
    logger: silentLogger,
    ...(batchIntervalMs !== undefined && { batchIntervalMs }),
  });
const follower = { index: 0, caughtUp: Promise.resolve(3), stop: async () => {} };

it('OP-107: attempts that failed are counted, and what had to be read again', async () => {
  const time = new FakeTime();
  const txns = [1, 2, 3].map(txn);
  const failures = [new ProjectionMovedError(0, 1), Object.assign(new Error('it goes down'), { code: '57P01' })];
  const projector = projectorOf(
    time,
    async (options) => {
      const wanted = txns.filter(({ index }) => index >= options.from);
      void options.onTxns(wanted, { live: false });
      return follower;
    },
    async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      return [];
    },
  );
  projector.start({ isCurrent: () => true } as never);
  await settle();
  expect(projector.stats()).toMatchObject({ applyErrors: 1, redelivered: 0, txns: 0, sessions: 1 });
  await time.pass(1_000); // the second session: Postgres goes down once, and takes it then
  expect(projector.stats()).toMatchObject({ applyErrors: 2, redelivered: 3, txns: 3, sessions: 2 });
  await projector.stop();
});

it('what comes soon after a batch waits and is written together; what comes after a while is written at once', async () => {
  const time = new FakeTime();
  const began = time.nowMs();
  const written: (readonly [atMs: number, ...indexes: number[]])[] = [];
  let arrive: (index: number) => void = () => {};
  const projector = projectorOf(
    time,
    async (options) => {
      arrive = (index) => void options.onTxns([txn(index)], { live: true });
      return follower;
    },
    async (applied) => {
      written.push([time.nowMs() - began, ...applied.map(({ index }) => index)]);
      return [];
    },
    BATCH_INTERVAL_MS,
  );
  projector.start({ isCurrent: () => true } as never);
  await settle();
  for (const [index, untilNextMs] of [
    [1, 1],
    [2, 1],
    [3, 8],
    [4, 0],
  ] as const) {
    arrive(index);
    await settle();
    await time.pass(untilNextMs);
  }
  expect(written).toEqual([
    [0, 1],
    [BATCH_INTERVAL_MS, 2, 3],
    [10, 4],
  ]);
  await projector.stop();
});

it('a projection that fails again and again begins anew ever later', async () => {
  const time = new FakeTime();
  const began = time.nowMs();
  const beganAt: number[] = [];
  const projector = projectorOf(
    time,
    async (options) => {
      beganAt.push(time.nowMs() - began);
      void options.onTxns([txn(options.from)], { live: false });
      return follower;
    },
    async () => {
      throw new ProjectionMovedError(1, 0);
    },
  );
  projector.start({ isCurrent: () => true } as never);
  await time.pass(10_000);
  const pauses = beganAt.slice(1).map((at, n) => at - beganAt[n]!);
  expect(pauses.slice(0, 7)).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
  await projector.stop();
});
