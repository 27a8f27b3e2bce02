import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import type { Stack } from '@waybill/embedded';
import {
  ArchiveLostError,
  Archives,
  connect,
  ensureStreams,
  Journal,
  LogTrimmedError,
  type NatsLink,
  StreamRetention,
} from '@waybill/journal';
import type { Timers } from '@waybill/model';
import {
  EventLog,
  EventsTrimmedError,
  loadSnapshot,
  NatsEventStorage,
  openPool,
  ProjectionFeed,
  ReadModel,
  subscribeToAnnouncements,
} from '@waybill/projection';
import { draftTxn, fixtures, serviceActor, stateDigest, StateMachine, type TxnDraft } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmptyStack } from '../support/begun-databases.js';
import { shellJob } from '../support/api-client.js';
import { freeze, thaw } from '../support/freeze.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const clock = { nowMs: () => Date.now() };
const timers: Timers = {
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

function evalDraft(): TxnDraft {
  const Evals = [fixtures.anEval({ ID: randomUUID(), Status: 'blocked' })];
  return draftTxn(
    'EvalUpdate',
    { Evals },
    {
      timeNs: Date.now() * 1e6,
      requestId: randomUUID(),
      actor: serviceActor('test'),
      namespace: 'default',
    },
  );
}

const jobDraft = (ID: string): TxnDraft =>
  draftTxn('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID })), {
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('test'),
    namespace: 'default',
  });

function headersOf(values: Readonly<Record<string, string>>): MsgHdrs {
  const made = headers();
  for (const [name, value] of Object.entries(values)) made.set(name, value);
  return made;
}

/** What a copy says that has no such message. */
const notFound = (): MsgHdrs => headers(404, 'Message Not Found');

describe('trimming the log', () => {
  let stack: Stack;
  let link: NatsLink;
  let journal: Journal;

  beforeAll(async () => {
    stack = await startEmptyStack();
    link = await connect({ url: stack.natsUrl, name: 'test' });
    await ensureStreams(link, { replicas: 1 });
    journal = new Journal(link);
  });
  afterAll(async () => {
    journal?.close();
    await link?.close();
    await stack?.stop();
  });

  it('ST-1: indexes go on where they were, and conditional writes still work on what was trimmed', async () => {
    await journal.publish(jobDraft('trimmed'));
    const subject = 'TXN.job.default.trimmed';
    const before = await journal.lastSequence(subject);
    for (let n = 0; n < 20; n++) await journal.publish(evalDraft());
    const { last } = await journal.bounds();
    const retention = new StreamRetention(link);
    expect(await retention.trimLog(last - 4)).toBe(last - 4);
    expect(await retention.trimLog(3)).toBe(last - 4);
    expect(await journal.bounds()).toEqual({ first: last - 4, last });
    expect(await journal.lastSequence(subject)).toBe(0);
    await expect(journal.publish(jobDraft('trimmed'), { expectedLastSubjectSequence: before })).rejects.toThrow();
    const { index } = await journal.publish(jobDraft('trimmed'), { expectedLastSubjectSequence: 0 });
    expect(index).toBe(last + 1);
    const follow = journal.follow({ from: 1, onTxns: () => {}, onError: () => {} });
    await expect(follow).rejects.toThrow(LogTrimmedError);
  });

  it('archives go with the log that names them, and no sooner', async () => {
    const manager = () => jetstreamManager(link.nc);
    const archives = new Archives(link, manager);
    const bytes = (fill: number) => Buffer.alloc(600_000, fill); // two chunks
    const old = await archives.put('old', bytes(1));
    const { index } = await journal.publish(evalDraft());
    const kept = await archives.put('kept', bytes(2));
    await journal.publish(evalDraft());
    await new StreamRetention(link).trimLog(index);
    await new StreamRetention(link).trimArchives();
    expect((await archives.get(old)).equals(bytes(1))).toBe(true); // a transaction in the log may name it still
    await new StreamRetention(link, 0).trimArchives();
    await expect(archives.get(old)).rejects.toThrow(ArchiveLostError);
    expect((await archives.get(kept)).equals(bytes(2))).toBe(true);
    // Those of the kept one, and one of the old if it was stored in the millisecond of the first transaction.
    expect((await (await manager()).streams.info('ARCHIVES')).state.messages).toBeLessThanOrEqual(3);
  });

  it('EV-60: a copy of EVENTS that lags does not pass for the end of the stream', async () => {
    const manager = await jetstreamManager(link.nc);
    const { seq } = await jetstream(link.nc).publish('EVENTS.test', '{}', {
      headers: headersOf({ 'Waybill-Index': '7' }),
    });
    // From here on this test answers in the place of the copies.
    await manager.streams.update('EVENTS', { allow_direct: false });
    let asked = 0;
    const lagging = link.nc.subscribe('$JS.API.DIRECT.GET.EVENTS', {
      callback: (_error, message) => {
        asked += 1;
        message.respond('', { headers: notFound() });
        if (asked < 2) return;
        lagging.unsubscribe();
        void manager.streams.update('EVENTS', { allow_direct: true });
      },
    });
    await link.nc.flush();
    const storage = new NatsEventStorage(link.nc);
    expect((await storage.readParts(seq, 10, 1_000_000)).map(({ index }) => index)).toEqual([7]);
    expect(asked).toBe(2);
    expect(await storage.readParts(seq + 1, 10, 1_000_000)).toEqual([]);
  });

  it('EV-68: what EVENTS keeps is set, by number and age', async () => {
    await new StreamRetention(link).limitEvents({ maxAgeMs: 3_600_000, maxFrames: 5_000 });
    const { config } = await (await jetstreamManager(link.nc)).streams.info('EVENTS');
    expect([config.max_age, config.max_msgs]).toEqual([3_600_000 * 1e6, 5_000]);
  });
});

describe('a control plane that trims its log all the time', () => {
  let waybill: WaybillProcesses;
  let link: NatsLink;
  let journal: Journal;

  beforeAll(async () => {
    const env = {
      WAYBILL_LOG_RETENTION_HOURS: '0.0003', // a second
      WAYBILL_LOG_RETENTION_INDEXES: '10',
    };
    waybill = await WaybillProcesses.startTogether(env, undefined, ['projector', 'broker', 'scheduler', 'api']);
    link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
    journal = new Journal(link);
  });
  afterAll(async () => {
    journal?.close();
    await link?.close();
    await waybill?.stop();
  });

  const register = (id: string): Promise<unknown> =>
    eventually(
      id,
      () => waybill.api.register(shellJob(id, 'exit 0', { type: 'batch' })).catch(() => undefined),
      60_000,
    );
  const haveRun = (): Promise<{ ID: string }[]> =>
    eventually(
      'all jobs have run',
      async () => {
        const all = await waybill.api.get<{ ID: string; Status: string }[]>('/v1/jobs');
        return all.every((job) => job.Status === 'dead') && all;
      },
      60_000,
    );

  it('ST-7: over kill -9 of everything, no more than Postgres holds is trimmed, and nothing is lost', async () => {
    const pool = openPool(waybill.stack.databaseUrl);
    const model = new ReadModel(pool);
    const machine = new StateMachine();
    const follower = await journal.follow({
      from: (await loadSnapshot(pool, machine)) + 1,
      onTxns: (txns) => txns.forEach((txn) => machine.apply(txn)),
      onError: (error) => expect.unreachable(error.message),
    });
    const trimmed = async (beyond: number): Promise<number> =>
      eventually('the log is trimmed', async () => {
        const { first } = await journal.bounds();
        expect(first).toBeLessThanOrEqual((await model.appliedIndex()) - 9);
        return first > beyond && first;
      });
    let first = 1;
    for (const victim of ['projector', 'broker', 'nats', 'postgres', 'projector', 'api'] as const) {
      for (let n = 0; n < 8; n++) await register(`${victim}-${first}-${n}`);
      if (victim === 'nats') process.kill(waybill.stack.nats.pid, 'SIGKILL');
      else if (victim === 'postgres') process.kill(waybill.stack.postgres.pid, 'SIGKILL');
      else await waybill.kill(victim);
      if (victim === 'broker' || victim === 'projector' || victim === 'api') await waybill.startService(victim);
      await register(`${victim}-${first}-after`);
      first = await trimmed(first);
    }
    expect(await haveRun()).toHaveLength(6 * 9);
    await eventually('Postgres is where the log is', async () => {
      const { last } = await journal.bounds();
      return machine.appliedIndex === last && (await model.appliedIndex()) === last;
    });
    const loaded = new StateMachine();
    expect(await loadSnapshot(pool, loaded)).toBe(machine.appliedIndex);
    expect(stateDigest(loaded)).toBe(stateDigest(machine));
    await follower.stop();
    await pool.end();
  }, 180_000);

  it('ST-7: a copy of the state that wakes up behind the log ends its process, and begins again from Postgres', async () => {
    const behind = waybill.running.get('scheduler')!.child;
    await freeze(behind.pid!);
    const { last } = await journal.bounds();
    process.kill(waybill.stack.nats.pid, 'SIGKILL'); // or what comes now would wait for it in its socket
    for (let n = 0; n < 20; n++) await register(`behind-${n}`);
    await eventually('what it would read next is gone', async () => (await journal.bounds()).first > last + 1);
    const ended = once(behind, 'exit');
    thaw(behind.pid!);
    expect((await ended)[0]).not.toBe(0);
    expect(readFileSync(`${waybill.dir}/scheduler.log`, 'utf8')).toContain('was trimmed: start from a newer snapshot');
    await waybill.startService('scheduler');
    expect((await haveRun()).map(({ ID }) => ID)).toContain('behind-19');
  }, 120_000);

  it('EV-69: a subscriber that is behind what is kept is told', async () => {
    for (let n = 0; n < 700; n++) await journal.publish(evalDraft());
    const { last } = await journal.bounds();
    const pool = openPool(waybill.stack.databaseUrl);
    const feed = new ProjectionFeed({ record: new ReadModel(pool), clock, timers });
    const unsubscribe = subscribeToAnnouncements(link.nc, feed, silentLogger);
    await eventually('all is projected', async () => (await feed.resync(), feed.applied >= last));
    const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    const log = new EventLog(new NatsEventStorage(link.nc), feed, pause);
    log.start();
    let release: () => void = () => {};
    const stuck = new Promise<void>((resolve) => (release = resolve));
    let got = 0;
    const onFrames = async (frames: readonly unknown[]): Promise<void> => {
      for (const _ of frames) if (++got === 100) await stuck;
    };
    const subscription = log.subscribe({ fromIndex: 1, onFrames, signal: new AbortController().signal });
    await eventually('it is stuck', () => got === 100);
    const manager = await jetstreamManager(link.nc);
    const { state } = await manager.streams.info('EVENTS');
    await manager.streams.purge('EVENTS', { seq: state.last_seq });
    release();
    await expect(subscription).rejects.toThrow(EventsTrimmedError);
    log.stop();
    feed.stop();
    unsubscribe();
    await pool.end();
  }, 60_000);
});
