import { type FollowOptions, type Log, LogTrimmedError } from '@waybill/journal';
import { FakeTime, settle } from '@waybill/model';
import { ProjectionMovedError } from '@waybill/projection';
import { draftTxn, fixtures, serviceActor, type Txn } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { type AddressedPart, type EventStream, type EventTail, NO_FRAME } from './event-stream.js';
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

/** An EVENTS that holds parts, as NATS does. */
class Events implements EventStream {
  parts: AddressedPart[] = [];
  /** The number of parts at the beginning that were removed. */
  removed = 0;
  /** The parts with their data as texts, which compare a thousand times faster than arrays of bytes. */
  get content(): object[] {
    return this.parts.map((part) => ({ ...part, data: Buffer.from(part.data).toString('base64') }));
  }
  readonly refusalOf = (): undefined => undefined;
  readonly onReturn = (): (() => void) => () => {};

  async tail(): Promise<EventTail> {
    const last = this.parts.at(-1);
    const sequence = this.removed + this.parts.length;
    if (!last) return { sequence, end: sequence, ...NO_FRAME };
    const { index, part, parts, headers } = last;
    return { sequence, end: sequence, index, timeNs: Number(headers['Waybill-Time']), part, parts };
  }

  async append(parts: readonly AddressedPart[], sequence: number): Promise<number> {
    if (sequence !== this.removed + this.parts.length) throw new Error('it ends elsewhere');
    return this.removed + this.parts.push(...parts);
  }
}

/** Evaluations, which make a frame each; those of `large` one of several parts. */
const evaluations = (last: number, large?: number): Txn[] =>
  Array.from({ length: last }, (_, n) => {
    const text = 'x'.repeat(n + 1 === large ? 600_000 : 1);
    const Evals = [1, 2].map((id) => fixtures.anEval({ ID: fixtures.uuid(id), StatusDescription: text }));
    return fixtures.aTxn(n + 1, 'EvalUpdate', { Evals });
  });

/** A projector whose Postgres and EVENTS have all of a log, until its first term is over. */
async function projected(txns: readonly Txn[]) {
  const time = new FakeTime();
  const events = new Events();
  const store = { index: 0, framed: 0, erasures: 0 };
  const lost = { beginning: false, deliversTo: Infinity };
  const followedFrom: number[] = [];
  const made = new Projector({
    log: {
      follow: async (options: FollowOptions) => {
        if (lost.beginning && options.from === 1) throw new LogTrimmedError(1, 3);
        followedFrom.push(options.from);
        const wanted = txns.filter(({ index }) => index >= options.from && index <= lost.deliversTo);
        if (wanted.length > 0) queueMicrotask(() => void options.onTxns(wanted, { live: false }));
        return { ...follower, caughtUp: Promise.resolve(txns.length) };
      },
    } satisfies Pick<Log, 'follow'> as Log,
    events,
    store: {
      load: async (machine) => {
        for (const one of txns.slice(0, store.index)) machine.apply(one);
        return store.index;
      },
      write: async (applied, _texts, framed) => {
        store.index = applied.at(-1)?.index ?? store.index;
        store.framed = framed;
        return [];
      },
      setAside: async () => 0,
      framedIndex: async () => store.framed,
    },
    announcer: { send: () => {} },
    clock: time,
    timers: time,
    logger: silentLogger,
    onDiverged: () => {},
    onErasure: () => void (store.erasures += 1),
  });
  const start = async (): Promise<void> => {
    made.start({ isCurrent: () => true } as never);
    await settle();
    await time.pass(1);
  };
  await start();
  await made.stop();
  expect(store.index).toBe(txns.length);
  return { store, projector: made, events, lost, start, followedFrom };
}

it('ST-186: an erasure is reported when PostgreSQL has it; its padding and a refused one are none', async () => {
  const metadata = fixtures.aTxn(2, 'ClusterMetadata', { ClusterID: 'a', CreateTime: 1 });
  const erase = (index: number, Padding: string) => fixtures.aTxn(index, 'HistoryErase', { Padding });
  const { store } = await projected([erase(1, ''), metadata, erase(3, '  ')]);
  expect(store.erasures).toBe(0);
  expect((await projected([evaluations(1)[0]!, metadata, erase(3, '')])).store.erasures).toBe(1);
});

describe('an EVENTS that lost its end while log and Postgres did not', () => {
  it('EV-60: gets the frames again', async () => {
    const { projector, events, start } = await projected(evaluations(5));
    const before = events.content;
    events.parts.length = 2;
    await start();
    await projector.stop();
    expect(events.content).toEqual(before);
  });

  it('EV-74: also where the end is inside the newest frame', async () => {
    const { projector, events, start } = await projected(evaluations(3, 3));
    const before = events.content;
    expect(events.parts.at(-1)!.parts).toBeGreaterThan(1);
    events.parts.length -= 1;
    await start();
    await projector.stop();
    expect(events.content).toEqual(before);
  });

  it('EV-60: says how many indexes are without frames where the log does not begin with its first transaction', async () => {
    const { projector, events, lost, start } = await projected(evaluations(5));
    events.parts.length = 2;
    lost.beginning = true;
    await start();
    expect(projector.stats()).toMatchObject({ lostFrames: 3 });
    await projector.stop();
  });

  it('EV-60: one whose frames were all removed, by their age or by an erasure, has lost none', async () => {
    const { projector, events, start, followedFrom } = await projected(evaluations(5));
    events.removed = events.parts.length;
    events.parts.length = 0;
    const known = followedFrom.length;
    await start();
    await projector.stop();
    expect(events.parts).toEqual([]);
    expect(followedFrom.slice(known)).toEqual([6]);
  });

  it('does not keep a projector whose term ends', async () => {
    const { projector, events, lost, start } = await projected(evaluations(5));
    events.parts.length = 2;
    lost.deliversTo = 0;
    await start();
    await projector.stop();
    expect(events.parts).toHaveLength(2);
  });

  it('EV-60: a term that is too short for it leaves the rest to the next one', async () => {
    const { projector, events, lost, start, followedFrom } = await projected(evaluations(5));
    const before = events.content;
    events.parts.length = 3;
    lost.deliversTo = 2;
    await start();
    await projector.stop();
    lost.deliversTo = Infinity;
    await start();
    await projector.stop();
    expect(events.content).toEqual(before);
    expect(followedFrom).toEqual([1, 1, 3, 6]); // projecting, and what two terms read to make the frames again
  });

  it('EV-60: EVENTS that loses its end again, behind what an earlier term has read, is made whole from the beginning', async () => {
    const { projector, events, lost, start } = await projected(evaluations(5));
    const before = events.content;
    events.parts.length = 3;
    lost.deliversTo = 4;
    await start();
    await projector.stop();
    expect(events.content).toEqual(before.slice(0, 4));
    events.parts.length = 2;
    lost.deliversTo = Infinity;
    await start();
    await projector.stop();
    expect(events.content).toEqual(before);
  });
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
