import { randomUUID } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Stack } from '@waybill/embedded';
import { connect, ensureStreams, initialise, Journal, type LogDivergedError, type NatsLink } from '@waybill/journal';
import { termOf } from '@waybill/roles';
import type { Timers } from '@waybill/model';
import {
  EventLog,
  type EventAbout,
  loadSnapshot,
  NatsEventStorage,
  openPool,
  partsOf,
  ProjectionFeed,
  ReadModel,
  type StoredFrame,
  subscribeToAnnouncements,
} from '@waybill/projection';
import {
  type EventStream,
  NatsAnnouncer,
  NatsEventStream,
  PostgresStore,
  type ProjectionStore,
  Projector,
} from '@waybill/projector';
import {
  draftTxn,
  eventsOf,
  fixtures,
  serviceActor,
  stateDigest,
  StateMachine,
  type Txn,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startMigratedStack } from '../support/begun-databases.js';

const clock = { nowMs: () => Date.now() };
const timers: Timers = {
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const term = termOf('projector', 1);

let stack: Stack;
let link: NatsLink;
let journal: Journal;
let pool: Pool;
let feed: ProjectionFeed;
let model: ReadModel;
let unsubscribe: () => void;
const projectors: Projector[] = [];

beforeEach(async () => {
  stack = await startMigratedStack({ restart: true });
  link = await connect({ url: stack.natsUrl, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
  journal = new Journal(link);
  await initialise(journal, { region: 'global', clock, newId: randomUUID });
  pool = openPool(stack.databaseUrl);
  model = new ReadModel(pool);
  feed = new ProjectionFeed({ record: model, clock, timers });
  unsubscribe = subscribeToAnnouncements(link.nc, feed, silentLogger);
});

afterEach(async () => {
  await Promise.all(projectors.splice(0).map((projector) => projector.stop()));
  feed.stop();
  unsubscribe();
  journal.close();
  await pool.end();
  await link.close();
  await stack.stop();
});

interface Faults {
  readonly events?: (real: EventStream) => EventStream;
  readonly store?: (real: ProjectionStore) => ProjectionStore;
}

const diverged: LogDivergedError[] = [];

function startProjector(faults: Faults = {}): Projector {
  const events = new NatsEventStream(link);
  const store = new PostgresStore(pool);
  const projector = new Projector({
    log: journal,
    events: faults.events?.(events) ?? events,
    store: faults.store?.(store) ?? store,
    announcer: new NatsAnnouncer(link),
    clock,
    timers,
    logger: silentLogger,
    onDiverged: (error) => diverged.push(error),
  });
  projectors.push(projector);
  projector.start(term);
  return projector;
}

async function publish<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = 'default'): Promise<number> {
  const draft = draftTxn(type, payload, {
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('test'),
    namespace,
  });
  return (await journal.publish(draft)).index;
}

const someEvals = (count: number): TxnPayloads['EvalUpdate'] => ({
  Evals: Array.from({ length: count }, () => fixtures.anEval({ ID: randomUUID(), Status: 'blocked' })),
});
const aNode = (): TxnPayloads['NodeRegister'] => ({
  Node: fixtures.aNode({ ID: randomUUID(), SecretID: randomUUID() }),
  CreateNodePool: false,
});

/** Nodes and evaluations, some refused: what the log of a busy hour looks like, small. */
async function someWork(txns: number): Promise<number> {
  let last = 0;
  for (let n = 0; n < txns; n++)
    last =
      n % 5 === 4
        ? await publish('NodeDeregister', { NodeID: randomUUID() })
        : n % 3 === 0
          ? await publish('NodeRegister', aNode(), '')
          : await publish('EvalUpdate', someEvals(2));
  return last;
}

/** What the log says by itself: the state, and the frames its transactions cause. */
async function replayed(to: number): Promise<{ machine: StateMachine; frames: unknown[] }> {
  const machine = new StateMachine();
  const frames: unknown[] = [];
  await new Promise<void>((resolve, reject) => {
    const take = (txns: readonly Txn[]): void => {
      for (const txn of txns) {
        if (txn.index > to) return;
        const frame = eventsOf(machine.apply(txn));
        if (frame) frames.push(JSON.parse(JSON.stringify(frame)));
        if (txn.index === to) resolve();
      }
    };
    void journal.follow({ from: 1, onTxns: take, onError: reject }).then((follower) => followers.push(follower));
  });
  await Promise.all(followers.splice(0).map((follower) => follower.stop()));
  return { machine, frames };
}
const followers: { stop(): Promise<void> }[] = [];

async function storedFrames(): Promise<unknown[]> {
  const storage = new NatsEventStorage(link.nc);
  const { first, last } = await storage.bounds();
  const frames: unknown[] = [];
  for (let at = first; at <= last;) {
    const parts = await storage.readParts(at, 500, 8_000_000);
    for (const part of parts) {
      expect([part.part, part.parts]).toEqual([1, 1]);
      frames.push(JSON.parse(Buffer.from(part.data).toString()));
      at = part.sequence + 1;
    }
  }
  return frames;
}

/** Postgres and EVENTS are what the log says, no more and no less. */
async function expectProjected(to: number): Promise<void> {
  await until(async () => (await model.appliedIndex()) >= to);
  const { machine, frames } = await replayed(to);
  const loaded = new StateMachine();
  expect(await loadSnapshot(pool, loaded)).toBe(to);
  expect(stateDigest(loaded)).toBe(stateDigest(machine));
  expect([...loaded.requests.entries()]).toEqual([...machine.requests.entries()]);
  expect(await storedFrames()).toEqual(frames);
}

async function until(condition: () => Promise<boolean> | boolean, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (
      await Promise.resolve(condition()).then(
        (met) => met,
        () => false,
      )
    )
      return;
    if (performance.now() > deadline) throw new Error('timed out waiting');
    await pause(10);
  }
}

describe('projector', () => {
  it('projects every transaction once, and announces its verdict', async () => {
    const projector = startProjector();
    const last = await someWork(60);
    const refused = await publish('NodeDeregister', { NodeID: 'nobody' });
    const verdict = await feed.waitFor(refused, 10_000);
    expect(verdict.kind).toBe('refused');
    expect((await model.txnVerdict(refused))?.verdict).toEqual(verdict);
    expect((await feed.waitFor(last, 1_000)).kind).not.toBe('void');
    await expectProjected(refused);
    expect(projector.stats()).toMatchObject({ applied: refused, backlog: 0, sessions: 1 });
  });

  it('a crash between EVENTS and Postgres leaves no gap and doubles nothing', async () => {
    const beforeCrash = await someWork(10);
    let crashes = 0;
    const dies = startProjector({
      store: (real) => ({
        load: (machine) => real.load(machine),
        setAside: () => real.setAside(),
        framedIndex: () => real.framedIndex(),
        write: async (applied, texts, framed, published) => {
          if ((applied.at(-1)?.index ?? 0) <= beforeCrash) return real.write(applied, texts, framed, published);
          await published;
          crashes += 1;
          return new Promise(() => {}); // it is killed here: never heard of again
        },
      }),
    });
    await until(async () => (await model.appliedIndex()) === beforeCrash);
    const last = await someWork(30);
    await until(() => crashes > 0);
    projectors.splice(projectors.indexOf(dies), 1);
    startProjector();
    await expectProjected(last);
  });

  it('EV-60: Postgres runs the statements meanwhile, and commits nothing before EVENTS has the frames', async () => {
    let fail: (error: Error) => void = () => {};
    const away = new Promise<void>((_, reject) => (fail = reject));
    let attempts = 0;
    startProjector({
      events: (real) => ({
        tail: () => real.tail(),
        onReturn: (listener) => real.onReturn(listener),
        refusalOf: (part) => real.refusalOf(part),
        append: async (parts, sequence) => {
          attempts += 1;
          if (attempts === 1) await away;
          return real.append(parts, sequence);
        },
      }),
    });
    const last = await someWork(5);
    await until(async () => {
      const { rows } = await pool.query<{ count: string }>(
        `select count(*) from pg_locks l join pg_class c on c.oid = l.relation join pg_stat_activity a on a.pid = l.pid
          where c.relname = 'projection' and l.mode = 'RowExclusiveLock' and a.datname = current_database()`,
      );
      return rows[0]?.count !== '0';
    });
    expect(await model.appliedIndex()).toBe(0);
    fail(new Error('EVENTS is away'));
    await expectProjected(last);
    expect(attempts).toBeGreaterThan(1);
  });

  it('EV-60: of frames of which one does not arrive none behind it is stored, and the writer is told', async () => {
    let count = 0;
    const nc = Object.assign(Object.create(link.nc) as typeof link.nc, {
      publish: (...message: Parameters<typeof link.nc.publish>) => {
        if (++count !== 3) link.nc.publish(...message);
      },
    });
    const parts = [1, 2, 3, 4, 5]
      .flatMap((Index) => partsOf({ Index, Time: 1, Events: [] }))
      .map((part) => ({ ...part, txnType: 'EvalUpdate', namespace: 'default' }));
    const events = new NatsEventStream(Object.assign(Object.create(link) as NatsLink, { nc }));
    await expect(events.append(parts, 0)).rejects.toThrow('it ends at 2, not at 4');
    expect(await events.tail()).toEqual({ sequence: 2, end: 2, index: 2, timeNs: 1, part: 1, parts: 1 });
    expect(await events.append(parts.slice(2), 2)).toBe(5);
    expect((await events.tail()).index).toBe(5);
  });

  it('a part whose acknowledgement came too late counts as stored, and not as written by somebody else', async () => {
    const partsUpTo = (last: number): Parameters<NatsEventStream['append']>[0] =>
      Array.from({ length: last }, (_, at) => partsOf({ Index: at + 1, Time: 1, Events: [] })[0]!).map((part) => ({
        ...part,
        txnType: 'EvalUpdate',
        namespace: 'default',
      }));
    const events = new NatsEventStream(link);
    expect(await events.append(partsUpTo(2), 0)).toBe(2);
    // The same once more, as after a lost acknowledgement.
    expect(await events.append(partsUpTo(2), 0)).toBe(2);
    expect((await events.tail()).sequence).toBe(2);
    // Another frame is there.
    await expect(events.append(partsUpTo(3).slice(2), 1)).rejects.toThrow('it ends at 2, not at 1');
  });

  it('EV-60: frames that EVENTS lost with its end are made again from the log, when the projector starts', async () => {
    const last = await someWork(10);
    const first = startProjector();
    await feed.waitFor(last, 20_000);
    await first.stop();
    const { frames } = await replayed(last);
    const indexes = (frames as { Index: number }[]).map(({ Index }) => Index);
    const kept = indexes.at(-4) ?? 0;
    await new NatsEventStorage(link.nc).removeAbove(kept);
    expect((await new NatsEventStorage(link.nc).newest())?.index).toBe(kept);
    startProjector();
    await expect.poll(async () => (await new NatsEventStorage(link.nc).newest())?.index).toBe(indexes.at(-1));
    expect(await collected(0, frames.length)).toEqual(frames);
  });

  it('ST-1: EVENTS has a frame of another transaction than the log: the log lost its end, and nothing is projected', async () => {
    const first = startProjector();
    const begun = await someWork(3);
    await feed.waitFor(begun, 20_000);
    await first.stop();
    const events = new NatsEventStream(link);
    const frame = { Index: begun + 1, Time: 1, Events: [] };
    const lost = partsOf(frame).map((part) => ({ ...part, txnType: 'EvalUpdate', namespace: 'default' }));
    await events.append(lost, (await events.tail()).end);
    diverged.length = 0;
    startProjector();
    await expect.poll(() => diverged.map(({ name }) => name)).toContain('LogRewoundError');
    await publish('EvalUpdate', someEvals(1));
    await expect.poll(() => diverged.map(({ name }) => name)).toContain('FrameOfLostTxnError');
    expect(await new PostgresStore(pool).load(new StateMachine())).toBe(begun);
    await new NatsEventStorage(link.nc).removeAbove(begun);
  });

  it('EV-74: a frame that was half written is completed, and is read as one', async () => {
    let half = true;
    const big = await publish('EvalUpdate', {
      Evals: someEvals(4_000).Evals.map((e) => ({ ...e, StatusDescription: 'x'.repeat(400) })),
    });
    startProjector({
      events: (real) => ({
        tail: () => real.tail(),
        refusalOf: (part) => real.refusalOf(part),
        onReturn: (listener) => real.onReturn(listener),
        append: async (parts, sequence) => {
          if (!half || parts.every((part) => part.index < big)) return await real.append(parts, sequence);
          half = false;
          await real.append(
            parts.filter((part) => part.index < big || part.part === 1),
            sequence,
          );
          throw new Error('killed in the middle of a frame');
        },
      }),
    });
    await feed.waitFor(big, 20_000);
    expect(half).toBe(false);
    const after = await publish('EvalUpdate', someEvals(1));
    await feed.waitFor(after, 20_000);
    const { frames } = await replayed(after);
    expect(await collected(0, frames.length)).toEqual(frames);
    const parts = await new NatsEventStorage(link.nc).readParts(1, 100, 80_000_000);
    expect(parts.filter((part) => part.index === big).map((part) => part.part)).toEqual(
      Array.from({ length: parts.find((part) => part.index === big)!.parts }, (_, n) => n + 1),
    );
    expect(parts.find((part) => part.index === big)!.parts).toBeGreaterThan(1);
  });

  it('two projectors at once do no harm', async () => {
    startProjector();
    startProjector();
    const lasts = await Promise.all([someWork(60), someWork(60), someWork(60)]);
    await expectProjected(Math.max(...lasts));
  });

  it('waits while Postgres is down, and catches up by itself', async () => {
    const projector = startProjector();
    await feed.waitFor(await someWork(5), 10_000);
    process.kill(stack.postgres.pid, 'SIGKILL');
    const last = await someWork(200);
    await expectProjected(last);
    expect((await feed.waitFor(last, 10_000)).kind).not.toBe('void');
    expect(projector.stats()['backlog']).toBe(0);
  });

  it('goes on by itself after NATS was killed', async () => {
    startProjector();
    await feed.waitFor(await someWork(5), 10_000);
    process.kill(stack.nats.pid, 'SIGKILL');
    await until(() => !link.up);
    await until(() => link.up);
    let last = 0;
    await until(async () => {
      last = await someWork(5);
      return true;
    });
    await expectProjected(last);
  });

  it('begins from an empty database again and gives the same', async () => {
    const first = startProjector();
    const last = await someWork(50);
    await feed.waitFor(last, 10_000);
    await first.stop();
    await pool.query('update projection set applied = 0');
    for (const table of ['txn', 'txn_object', 'table_index', 'evals', 'nodes', 'node_pools', 'namespaces'])
      await pool.query(`delete from ${table}`);
    startProjector();
    await expectProjected(last);
  });

  it('stops and starts again where it was', async () => {
    const projector = startProjector();
    await feed.waitFor(await someWork(5), 10_000);
    await projector.stop();
    const last = await someWork(5);
    expect(await model.appliedIndex()).toBeLessThan(last);
    projector.start(term);
    await expectProjected(last);
  });
});

/** The first `count` frames a subscriber gets from `fromIndex` on. */
async function collected(fromIndex: number, count: number, replayFrames = 1_000_000): Promise<unknown[]> {
  const log = new EventLog(new NatsEventStorage(link.nc), feed, pause);
  log.start();
  const frames = await framesOf(log, fromIndex, count, replayFrames);
  log.stop();
  return frames.map((frame) => frame.frame);
}

async function framesOf(
  log: EventLog,
  fromIndex: number,
  count: number,
  replayFrames?: number,
): Promise<StoredFrame[]> {
  const frames: StoredFrame[] = [];
  if (count === 0) return frames;
  const enough = new AbortController();
  const onFrames = (given: readonly StoredFrame[]): void => {
    frames.push(...given.slice(0, count - frames.length));
    if (frames.length === count) enough.abort();
  };
  await log.subscribe({
    fromIndex,
    onFrames,
    signal: enough.signal,
    ...(replayFrames !== undefined && { replayFrames }),
  });
  return frames;
}

describe('event log', () => {
  let log: EventLog;

  beforeEach(() => {
    log = new EventLog(new NatsEventStorage(link.nc), feed, pause);
  });
  afterEach(() => log.stop());

  it('EV-62: subscribers from many starting points, while writing at full rate, get every frame once and in order', async () => {
    startProjector();
    await feed.waitFor(await someWork(20), 10_000);
    log.start();
    const writing = Promise.all([someWork(80), someWork(80), someWork(80)]);
    const ends = new AbortController();
    const seen = await Promise.all(
      [1, 2, 5, 17, 20, 30, 60, 100].map(async (fromIndex) => {
        await until(() => feed.applied >= fromIndex);
        const got: number[] = [];
        const onFrames = async (frames: readonly StoredFrame[]): Promise<void> => {
          for (const frame of frames) {
            expect(frame.index).toBeLessThanOrEqual(feed.applied);
            if (fromIndex % 2 === 0) await pause(1); // a slow reader
            got.push(frame.index);
          }
        };
        void log.subscribe({ fromIndex, onFrames, signal: ends.signal });
        return { fromIndex, got };
      }),
    );
    const last = Math.max(...(await writing));
    await feed.waitFor(last, 10_000);
    const indexes = (await replayed(last)).frames.map((frame) => (frame as { Index: number }).Index);
    for (const { fromIndex, got } of seen) {
      const wanted = indexes.filter((index) => index >= fromIndex);
      await until(() => got.length >= wanted.length);
      expect(got).toEqual(wanted);
    }
    ends.abort();
  });

  it('EV-63: index 0 replays the last frames, EV-66: one above the last applied starts live', async () => {
    startProjector();
    await feed.waitFor(await someWork(20), 10_000);
    const { frames } = await replayed(feed.applied);
    log.start();
    expect((await framesOf(log, 0, 3, 3)).map((frame) => frame.frame)).toEqual(frames.slice(-3));
    const live = framesOf(log, 1_000_000, 1);
    const next = await publish('EvalUpdate', someEvals(1));
    expect((await live).map((frame) => frame.index)).toEqual([next]);
  });

  it('EV-72, EV-69: who waits for something rare passes over the rest, and has lost nothing when that is trimmed', async () => {
    startProjector();
    await feed.waitFor(await someWork(3), 10_000);
    log.start();
    const got: number[] = [];
    const ends = new AbortController();
    const subscription = log.subscribe({
      fromIndex: 1,
      interests: [['Evaluation', 'rare']],
      onFrames: (frames) => void got.push(...frames.map(({ index }) => index)),
      signal: ends.signal,
    });
    let read = 0; // by the log itself, as who wants everything sees
    const onFrames = (frames: readonly StoredFrame[]): void => void (read = frames.at(-1)?.index ?? read);
    void log.subscribe({ fromIndex: 1, onFrames, signal: ends.signal });
    await until(() => read > 0);
    const past = got.length;
    // More than the window holds, and then all of it is trimmed.
    const big = { Evals: someEvals(100).Evals.map((one) => ({ ...one, StatusDescription: 'x'.repeat(8_000) })) };
    for (let n = 0; n < 25; n++) await publish('EvalUpdate', big);
    const common = await publish('EvalUpdate', someEvals(1));
    await until(() => read === common);
    const manager = await jetstreamManager(link.nc);
    await manager.streams.purge('EVENTS');
    const rare = await publish('EvalUpdate', {
      Evals: [fixtures.anEval({ ID: 'e1', JobID: 'rare', Status: 'blocked' })],
    });
    await until(() => got.at(-1) === rare);
    expect(got.length).toBe(past + 1);
    ends.abort();
    await subscription;
  });

  it('EV-72: says what a frame is about without looking into it', async () => {
    startProjector();
    log.start();
    const payload = { Evals: [fixtures.anEval({ ID: 'e1', JobID: 'wéb\n', DeploymentID: '', Status: 'blocked' })] };
    const index = await publish('EvalUpdate', payload);
    await feed.waitFor(index, 10_000);
    const [frame] = await framesOf(log, index, 1);
    const wanted: EventAbout[] = [{ topic: 'Evaluation', namespace: 'default', keys: ['e1', 'wéb\n', ''] }];
    expect(frame!.events).toEqual(wanted);
    expect(await log.floor()).toBe(1);
    expect(log.head).toBe(feed.applied);
  });
});
