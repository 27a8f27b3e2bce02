import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { startNats, type RunningServer } from '@waybill/embedded';
import {
  BadTxnError,
  ConflictError,
  connect,
  ensureStreams,
  initialise,
  Journal,
  JournalContext,
  JournalServer,
  LogOverloadedError,
  LogReplacedError,
  LogRewoundError,
  LogTrimmedError,
  LogUnavailableError,
  managerOf,
  MAX_QUEUED,
  MAX_IN_FLIGHT,
  nodeSubject,
  TooLargeError,
  UnknownTxnError,
} from '@waybill/journal';
import type { Follower, NatsLink } from '@waybill/journal';
import { draftTxn, serviceActor } from '@waybill/state';
import type { Txn, TxnDraft } from '@waybill/state';
import { headers as natsHeaders } from '@nats-io/transport-node';
import { jetstream } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freeze, thaw } from '../support/freeze.js';
import { SyncedCopy } from '../support/power-cut.js';

let dir: string;
let nats: RunningServer;
let link: NatsLink;
let journal: Journal;
const followers: Follower[] = [];

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-journal-'));
  nats = await startNats({ dir, restart: true });
  link = await connect({ url: nats.url, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
  journal = new Journal(link);
});

afterEach(async () => {
  await Promise.all(followers.splice(0).map((f) => f.stop()));
  journal.close();
  await link.nc.close();
  await nats.stop();
  await rm(dir, { recursive: true, force: true });
});

async function until(what: string, condition: () => unknown, timeoutMs = 15_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const draft = (over: Partial<TxnDraft<'NodeDeregister'>> = {}): TxnDraft<'NodeDeregister'> => ({
  ...draftTxn(
    'NodeDeregister',
    { NodeID: 'n1' },
    { timeNs: Date.now() * 1e6, requestId: randomUUID(), actor: serviceActor('test') },
  ),
  ...over,
});
const ofNode = (id: string): TxnDraft<'NodeDeregister'> => draft({ payload: { NodeID: id } });

interface Reading {
  readonly follower: Follower;
  readonly txns: Txn[];
  readonly lives: boolean[];
  readonly errors: Error[];
}

async function read(
  from = 1,
  onTxns: (batch: readonly Txn[]) => void | Promise<void> = () => {},
  log: Journal = journal,
): Promise<Reading> {
  const txns: Txn[] = [];
  const lives: boolean[] = [];
  const errors: Error[] = [];
  const follower = await log.follow({
    from,
    onTxns: (batch, { live }) => {
      for (const txn of batch) {
        txns.push(txn);
        lives.push(live);
      }
      return onTxns(batch);
    },
    onError: (e) => errors.push(e),
  });
  followers.push(follower);
  return { follower, txns, lives, errors };
}

/** Looks in a row, some 5 ms apart, at which nothing has come. */
const QUIET_LOOKS = 20;
const upTo = (n: number, from = 1): number[] => Array.from({ length: n - from + 1 }, (_, i) => from + i);
const kill9 = (): void => void process.kill(nats.pid, 'SIGKILL');

describe('publishing', () => {
  it('ST-2: of many services that start at once, one writes the initialisation, and none on an existing log', async () => {
    const links = await Promise.all(upTo(8).map((i) => connect({ url: nats.url, name: `s${i}` })));
    const options = { region: 'global', clock: { nowMs: () => Date.now() }, newId: randomUUID };
    const wrote = await Promise.all(
      links.map(async (l) => {
        await ensureStreams(l, { replicas: 1 });
        const j = new Journal(l);
        return initialise(j, options).finally(() => j.close());
      }),
    );
    expect(wrote.filter(Boolean)).toHaveLength(1);
    expect(await initialise(journal, options)).toBe(false);
    expect(await journal.bounds()).toEqual({ first: 1, last: 1 });
    const { txns } = await read();
    await until('it is read', () => txns.length > 0);
    expect(txns).toMatchObject([{ index: 1, type: 'Initialise', payload: {} }]);
    await Promise.all(links.map((l) => l.close()));
  });

  it('only EVENTS may be read from copies that lag, also where streams are older than that', async () => {
    const manager = await managerOf(link);
    const direct = async (): Promise<Record<string, boolean>> => {
      const found: Record<string, boolean> = {};
      for await (const { config } of manager.streams.list()) found[config.name] = config.allow_direct ?? false;
      return found;
    };
    const expected = { TXN: false, EVENTS: true, ARCHIVES: false, LOGINS: false, USED_LOGINS: false, KV_LEASES: false };
    expect(await direct()).toEqual(expected);
    for (const name of ['TXN', 'ARCHIVES', 'KV_LEASES']) await manager.streams.update(name, { allow_direct: true });
    await ensureStreams(link, { replicas: 1 });
    expect(await direct()).toEqual(expected);
  });

  it('ST-1: the index is the stream sequence, in order, without a hole', async () => {
    const published = [];
    for (const i of upTo(5)) published.push(await journal.publish(ofNode(`n${i}`)));
    expect(published.map((p) => p.index)).toEqual([1, 2, 3, 4, 5]);
  });

  it('ST-6: the same RequestID again gives the index of the first copy, also with a condition that no longer holds', async () => {
    const once = draft();
    const first = await journal.publish(once, { expectedLastSubjectSequence: 0 });
    const again = await journal.publish(once, { expectedLastSubjectSequence: 0 });
    expect(first).toEqual({ index: 1, duplicate: false });
    expect(again).toEqual({ index: 1, duplicate: true });
    await journal.publish(draft(), { expectedLastSubjectSequence: 1 });
    expect(await journal.publish(once, { expectedLastSubjectSequence: 0 })).toEqual({ index: 1, duplicate: true });
    expect(await journal.publish(once)).toEqual({ index: 1, duplicate: true });
  });

  it('refuses a write whose aggregate was written meanwhile, and says at which index', async () => {
    await journal.publish(ofNode('a'), { expectedLastSubjectSequence: 0 });
    await journal.publish(ofNode('b'), { expectedLastSubjectSequence: 0 });
    const { index } = await journal.publish(ofNode('a'), { expectedLastSubjectSequence: 1 });
    const conflict = await journal.publish(ofNode('a'), { expectedLastSubjectSequence: 1 }).catch((e: unknown) => e);
    expect(conflict).toBeInstanceOf(ConflictError);
    expect(conflict).toMatchObject({ actual: index, expected: 1, subject: 'TXN.node.a' });
    expect(await journal.lastSequence(nodeSubject('a'))).toBe(3);
    expect(await journal.lastSequence(nodeSubject('never'))).toBe(0);
  });

  it('names that are hostile to subjects stay apart and come back as they were', async () => {
    const names = ['', '*', '>', 'a.b', 'a b', 'a/b', 'ö 🚢', 'x'.repeat(5000), '.'.repeat(5000)];
    for (const name of names) await journal.publish(ofNode(name), { expectedLastSubjectSequence: 0 });
    const { txns } = await read();
    await until('all are read', () => txns.length === names.length);
    expect(txns.map((t) => (t.type === 'NodeDeregister' ? t.payload.NodeID : undefined))).toEqual(names);
  });

  it('ST-14: carries a payload of several MB, and refuses one above the limit before sending it', async () => {
    await journal.publish(ofNode('x'.repeat(7_000_000)));
    await expect(journal.publish(ofNode('x'.repeat(8_400_000)))).rejects.toThrow(TooLargeError);
    expect(await journal.bounds()).toEqual({ first: 1, last: 1 });
  });

  it('fails with a clear error when more wait than the queue holds', async () => {
    const results = await Promise.allSettled(upTo(MAX_QUEUED + MAX_IN_FLIGHT + 10).map(() => journal.publish(draft())));
    const failed = results.flatMap((r) => (r.status === 'rejected' ? [r.reason] : []));
    expect(failed).toHaveLength(10);
    expect(failed[0]).toBeInstanceOf(LogOverloadedError);
    expect(journal.load).toEqual({ inFlight: 0, queued: 0 });
  });

  it('fails within 2 s while NATS is down, and what failed then is not in the log later', async () => {
    await journal.publish(draft());
    const { port } = nats;
    await nats.stop();
    const began = performance.now();
    const results = await Promise.allSettled([
      ...upTo(300).map(() => journal.publish(draft())),
      journal.lastSequence('TXN.eval'),
    ]);
    expect(performance.now() - began).toBeLessThan(2_000);
    for (const r of results) expect(r).toMatchObject({ status: 'rejected', reason: expect.any(LogUnavailableError) });
    expect(results).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ mayBeWritten: false }) }),
    );
    nats = await startNats({ dir, port, restart: true });
    await until('the connection is back', () => link.up);
    expect(await journal.publish(draft())).toEqual({ index: 2, duplicate: false });
  });

  it('fails within 2 s when NATS hangs without closing the connection', async () => {
    await journal.publish(draft());
    await freeze(nats.pid);
    try {
      const began = performance.now();
      const failure = journal.publish(draft());
      await expect(failure).rejects.toThrow(LogUnavailableError);
      await expect(failure, 'it lies in the socket').rejects.toMatchObject({ mayBeWritten: true });
      expect(performance.now() - began).toBeLessThan(2_000);
    } finally {
      thaw(nats.pid);
    }
  });

  it('ST-6: nothing acknowledged is lost and nothing is there twice when NATS is killed while publishing', async () => {
    const acknowledged = new Map<string, number>();
    let sending = true;
    const writers = upTo(20).map(async () => {
      while (sending) {
        const one = draft();
        try {
          acknowledged.set(one.requestId, (await journal.publish(one, { deadlineMs: 10_000 })).index);
        } catch (e) {
          expect(e).toBeInstanceOf(LogUnavailableError);
        }
      }
    });
    for (const round of [1, 2]) {
      const before = acknowledged.size;
      await until('publishing goes on', () => acknowledged.size > before + 500);
      const { pid } = nats;
      kill9();
      await until(`the server is back (${round})`, () => nats.pid !== pid && link.up);
    }
    const before = acknowledged.size;
    await until('publishing goes on', () => acknowledged.size > before + 500);
    sending = false;
    await Promise.all(writers);

    const { txns, follower } = await read();
    await follower.caughtUp;
    const stored = new Map(txns.map((t) => [t.requestId, t.index]));
    expect(stored.size).toBe(txns.length);
    expect(txns.map((t) => t.index)).toEqual(upTo(txns.length));
    for (const [id, index] of acknowledged) expect(stored.get(id)).toBe(index);
  });
});

describe('following', () => {
  it('delivers what was there, says when that is done, then what comes, each marked as replayed or live', async () => {
    for (const i of upTo(2500)) void journal.publish(ofNode(`n${i}`));
    await until('all are published', () => journal.load.inFlight === 0);
    const { txns, lives, follower } = await read();
    expect(await follower.caughtUp).toBe(2500);
    expect(follower.index).toBe(2500);
    await journal.publish(draft());
    await until('the live one is read', () => txns.length === 2501);
    expect(txns.map((t) => t.index)).toEqual(upTo(2501));
    expect(lives).toEqual(upTo(2501).map((i) => i > 2500));
  });

  it('starts in the middle, and at the end of an empty log', async () => {
    const empty = await read(1);
    expect(await empty.follower.caughtUp).toBe(0);
    for (const i of upTo(10)) await journal.publish(ofNode(`n${i}`));
    const middle = await read(7);
    await middle.follower.caughtUp;
    expect(middle.txns.map((t) => t.index)).toEqual([7, 8, 9, 10]);
    await until('the first reader has all', () => empty.txns.length === 10);
    const end = await read(11);
    expect(await end.follower.caughtUp).toBe(10);
  });

  it('ST-7: goes on within 3 s after NATS was killed and restarted, without gap or duplicate', async () => {
    const { txns, errors, follower } = await read();
    await journal.publish(draft());
    await until('the first is read', () => txns.length === 1);
    for (const round of [1, 2, 3]) {
      const { pid } = nats;
      kill9();
      await until('the server is back', () => nats.pid !== pid && link.up);
      const back = performance.now();
      for (const i of upTo(50)) await journal.publish(ofNode(`r${round}-${i}`), { deadlineMs: 5_000 });
      await until('all are read', () => txns.length === 1 + 50 * round, 3_000);
      expect(performance.now() - back).toBeLessThan(3_000);
    }
    expect(txns.map((t) => t.index)).toEqual(upTo(151));
    expect(errors).toEqual([]);
    expect(follower.index).toBe(151);
  });

  it('ST-7: neither gap nor duplicate when NATS is killed in the middle of a replay', async () => {
    const count = 40_000;
    const writer = upTo(count).map((i) => () => journal.publish(ofNode(`n${i}`)));
    await Promise.all(
      upTo(200).map(async () => {
        for (let w = writer.pop(); w; w = writer.pop()) await w();
      }),
    );
    let killed = false;
    const { txns, follower, errors } = await read(1, (batch) => {
      if (killed || batch.at(-1)!.index < count / 4) return;
      killed = true;
      kill9();
    });
    await follower.caughtUp;
    expect(killed).toBe(true);
    expect(txns.map((t) => t.index)).toEqual(upTo(count));
    expect(errors).toEqual([]);
  });

  it('ST-7: a message that is lost between servers is read again, also when none comes behind it', async () => {
    const { nc } = link;
    const subscribe = nc.subscribe.bind(nc);
    let losing = 0;
    nc.subscribe = (subject, options) =>
      subscribe(subject, {
        ...options,
        callback: (error, msg) => {
          if (losing > 0 && msg.reply?.startsWith('$JS.ACK.')) losing--;
          else void options?.callback?.(error, msg);
        },
      });
    const { txns, errors } = await read();
    await journal.publish(draft());
    await until('the first is read', () => txns.length === 1);
    losing = 2;
    await Promise.all([journal.publish(draft()), journal.publish(draft())]);
    await until('both are read', () => txns.length === 3);
    expect(losing).toBe(0);
    expect(txns.map((t) => t.index)).toEqual(upTo(3));
    expect(errors).toEqual([]);
  });

  it('makes its consumer anew when the server forgets it', async () => {
    const { txns } = await read();
    await journal.publish(draft());
    await until('the first is read', () => txns.length === 1);
    const manager = await managerOf(link);
    for await (const consumer of manager.consumers.list('TXN')) await manager.consumers.delete('TXN', consumer.name);
    await journal.publish(draft());
    await until('the second is read', () => txns.length === 2, 5_000);
  });

  it('a slow reader gets one batch at a time, and the server holds the rest back', async () => {
    const big = 'x'.repeat(100_000);
    await Promise.all(upTo(1500).map((i) => journal.publish(ofNode(`${i}${big}`), { deadlineMs: 20_000 })));
    let active = 0;
    let most = 0;
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const before = link.nc.stats().inBytes;
    const { txns, follower } = await read(1, async () => {
      most = Math.max(most, ++active);
      await held;
      active--;
    });
    await until('the first batch is here', () => txns.length > 0);
    let last = -1;
    let quiet = 0;
    await until('nothing more comes', async () => {
      await link.nc.flush(); // the server has written what it had to say
      const now = link.nc.stats().inBytes;
      quiet = now - last < 1_000 ? quiet + 1 : 0;
      last = now;
      return quiet >= QUIET_LOOKS;
    });
    expect(link.nc.stats().inBytes - before).toBeLessThan(64 * 1024 * 1024);
    release?.();
    await follower.caughtUp;
    expect(most).toBe(1);
    expect(txns.map((t) => t.index)).toEqual(upTo(1500));
  });

  it('calls nothing after stop() has resolved', async () => {
    let calls = 0;
    const { follower } = await read(1, () => void calls++);
    await journal.publish(draft());
    await until('it is read', () => calls > 0);
    await follower.stop();
    const before = calls;
    const other = await read();
    await journal.publish(draft());
    await until('another reader has it', () => other.txns.length === 2);
    expect(calls).toBe(before);
  });

  it('stops and reports what the reader throws', async () => {
    const { errors, txns, follower } = await read(1, () => {
      throw new Error('disk full');
    });
    await journal.publish(draft());
    await until('it is reported', () => errors.length > 0);
    expect(errors).toMatchObject([{ message: 'disk full' }]);
    expect(follower.index).toBe(0);
    await journal.publish(draft());
    expect(txns).toHaveLength(1);
  });

  it('a start below the first index that is left is an error that names both', async () => {
    for (const i of upTo(10)) await journal.publish(ofNode(`n${i}`));
    await (await managerOf(link)).streams.purge('TXN', { seq: 6 });
    await expect(read(3)).rejects.toThrow(LogTrimmedError);
    const { txns, follower } = await read(6);
    await follower.caughtUp;
    expect(txns.map((t) => t.index)).toEqual([6, 7, 8, 9, 10]);
  });

  it('ST-1: a log that ends below what was read from it is another log: fatal, at start and while reading', async () => {
    await expect(read(2)).rejects.toThrow(LogRewoundError);
    journal.history.accept();
    for (const i of upTo(3)) await journal.publish(ofNode(`n${i}`));
    const { txns, errors } = await read();
    await until('all are read', () => txns.length === 3);
    await (await managerOf(link)).streams.delete('TXN');
    await until('it is reported', () => errors.length > 0, 10_000);
    expect(errors[0]).toBeInstanceOf(LogRewoundError);
  });

  it('ST-1: a log that has another transaction where one was read is another log, however long it is', async () => {
    for (const i of upTo(5)) await journal.publish(ofNode(`n${i}`));
    const after = { index: 3, requestId: 'lost in a power cut', timeNs: 1 };
    const replaced = journal.follow({ from: 4, after, onTxns: () => {}, onError: () => {} });
    await expect(replaced).rejects.toThrow(LogReplacedError);
    await expect(journal.publish(draft())).rejects.toThrow('waybill operator log status');
    expect((await journal.bounds()).last).toBe(5);
    journal.history.accept(await journal.markAt(5));
    expect((await journal.publish(draft())).index).toBe(6);
  });

  it('a reader that has not caught up when the log loses its end has caught up with the end that is left', async () => {
    // Larger than the window of the server's flow control, so that the reader has not received the end that is lost.
    const large = (): Promise<unknown> =>
      journal.publish(draft({ payload: { NodeID: 'n'.repeat(2_000_000) } }), { deadlineMs: 10_000 });
    for (let i = 0; i < 5; i++) await large();
    const synced = await SyncedCopy.take(nats, dir);
    for (let i = 0; i < 5; i++) await large();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const reader = new Journal(link);
    const { follower, txns, errors } = await read(1, () => held, reader);
    await until('it reads', () => txns.length > 0);
    expect(txns.length).toBeLessThan(5);
    await synced.cutPower();
    await until('the connection is lost', () => !link.up);
    release();
    expect(await follower.caughtUp).toBe(5);
    expect([follower.index, errors]).toEqual([5, []]);
    reader.close();
  });

  it('ST-8: skips an unknown type with bit 128 but counts its index, and stops at one without', async () => {
    const js = jetstream(link.nc);
    const foreign = async (type: number, body = '{}'): Promise<void> => {
      const h = natsHeaders();
      for (const [k, v] of Object.entries({
        Type: type,
        Name: 'Future',
        Time: 1,
        Schema: 1,
        Actor: '{"Kind":"user","ID":"","Name":""}',
      }))
        h.set(`Waybill-${k}`, String(v));
      await js.publish('TXN.future', body, { headers: h });
    };
    await journal.publish(draft());
    await foreign(201);
    await journal.publish(draft());
    await foreign(90);
    await journal.publish(draft());
    const { txns, errors, follower } = await read();
    await until('it stops', () => errors.length > 0);
    expect(txns.map((t) => [t.index, t.type])).toEqual([
      [1, 'NodeDeregister'],
      [2, 'Ignore'],
      [3, 'NodeDeregister'],
    ]);
    expect(errors[0]).toBeInstanceOf(UnknownTxnError);
    expect(follower.index).toBe(3);
    await expect(follower.caughtUp).rejects.toThrow(UnknownTxnError);

    await foreign(1, 'no json');
    const bad = await read(6);
    await until('it stops', () => bad.errors.length > 0);
    expect(bad.errors[0]).toBeInstanceOf(BadTxnError);
    expect(bad.txns).toEqual([]);
  });
});

const handled: string[] = [];
let failures = 0;

@Controller()
class NodeReactions {
  @EventPattern<string>('NodeDeregister')
  async onGone(@Payload() txn: Txn<'NodeDeregister'>, @Ctx() context: JournalContext): Promise<void> {
    await Promise.resolve();
    if (txn.payload.NodeID === 'bad' && failures++ < 2) throw new Error('not now');
    handled.push(`${context.txn.index} ${txn.payload.NodeID} ${context.live}`);
  }

  @EventPattern<string>('TXN.eval.>')
  onNothing(): void {
    handled.push('a pattern with > needs one token more');
  }

  @EventPattern<string>('TXN.lease.*')
  onLease(@Payload() txn: Txn<'LeaseAcquired'>): void {
    handled.push(`${txn.index} lease ${txn.payload.Role}`);
  }
}

@Module({ controllers: [NodeReactions] })
class ReactionsModule {}

describe('the Nest transport', () => {
  it('calls handlers by type and by subject, in the order of the log, and again until they succeed', async () => {
    const context = { timeNs: 1, actor: serviceActor('test') };
    await journal.publish(ofNode('a'));
    await journal.publish(ofNode('bad'));
    await journal.publish(draftTxn('EvalUpdate', { Evals: [] }, { ...context, requestId: randomUUID() }));
    const retried: number[] = [];
    const errors: Error[] = [];
    const app = await NestFactory.createMicroservice(ReactionsModule, {
      strategy: new JournalServer({
        log: journal,
        from: () => 1,
        onError: (e) => errors.push(e),
        onRetry: (_e, txn) => retried.push(txn.index),
      }),
      logger: false,
    });
    await app.listen();
    await until('the replay is done', () => handled.length === 2);
    const lease = { Role: 'broker', Epoch: 1, Holder: 'h' } as const;
    await journal.publish(draftTxn('LeaseAcquired', lease, { ...context, requestId: randomUUID() }));
    await journal.publish(ofNode('c'));
    await until('all are handled', () => handled.length === 4);
    await app.close();
    expect(handled).toEqual(['1 a false', '2 bad false', '4 lease broker', '5 c true']);
    expect(retried).toEqual([2, 2]);
    expect(errors).toEqual([]);
  });
});
