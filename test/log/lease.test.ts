import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNats, type RunningServer } from '@waybill/embedded';
import { connect, ensureStreams, Journal, type NatsLink } from '@waybill/journal';
import { KvLeaseStore } from '@waybill/roles';
import type { Txn } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const TTL_MS = 2_000;

let dir: string;
let nats: RunningServer;
let link: NatsLink;
const contenders: Contender[] = [];

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-lease-'));
  nats = await startNats({ dir, restart: true });
  link = await connect({ url: nats.url, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
});

afterEach(async () => {
  for (const c of contenders.splice(0)) c.process.kill('SIGKILL');
  await link.nc.close();
  await nats.stop();
  await rm(dir, { recursive: true, force: true });
});

async function until<T>(what: string, condition: () => T | Promise<T>, timeoutMs = 15_000): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

interface Said {
  readonly event: string;
  readonly at: number;
  readonly epoch?: number;
  readonly current?: boolean;
  readonly verdict?: { kind: string; error?: string };
}

interface Contender {
  readonly process: ChildProcessWithoutNullStreams;
  readonly said: Said[];
  /** The first thing of this kind it says from now on, or has said. */
  heard(event: string, from?: number): Promise<Said>;
}

async function contend(name: string): Promise<Contender> {
  const child = spawn(process.execPath, [
    fileURLToPath(new URL('lease-contender.mjs', import.meta.url)),
    nats.url,
    name,
    String(TTL_MS),
  ]);
  const said: Said[] = [];
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line)));
  const contender: Contender = {
    process: child,
    said,
    heard: (event, from = 0) =>
      until(`${name} says ${event} (said ${said.map((s) => s.event).join(', ')}; ${errors})`, () =>
        said.slice(from).find((s) => s.event === event),
      ),
  };
  contenders.push(contender);
  await contender.heard('ready');
  return contender;
}

/** A holder and one who waits. */
async function pair(): Promise<[Contender, Contender]> {
  const a = await contend('a');
  expect(await a.heard('start')).toMatchObject({ epoch: 1 });
  return [a, await contend('b')];
}

describe('leases, between processes', () => {
  it('of several contenders exactly one holds; on an orderly stop the next one begins at once', async () => {
    const [a, b] = await pair();
    const c = await contend('c');
    a.process.kill('SIGTERM');
    await a.heard('bye');
    const next = await until(
      'one of them begins',
      () => [...b.said, ...c.said].find((s) => s.event === 'start'),
      1_000,
    );
    expect(next.epoch).toBe(2);
    expect([...b.said, ...c.said].filter((s) => s.event === 'start')).toHaveLength(1);
  });

  it('after SIGKILL of the holder the other acts within the TTL and a second', async () => {
    const [a, b] = await pair();
    a.process.kill('SIGKILL');
    const killedAt = Date.now();
    const start = await b.heard('start');
    expect(start.epoch).toBe(2);
    expect(start.at - killedAt).toBeLessThan(TTL_MS + 1_000);
  });

  it('ST-15: a holder frozen past its TTL drops its term on waking, and what it still writes is void', async () => {
    const [a, b] = await pair();
    a.process.stdin.write('write\n');
    expect(await a.heard('written')).toMatchObject({ current: true, verdict: { kind: 'noop' } });
    a.process.kill('SIGSTOP');
    expect(await b.heard('start')).toMatchObject({ epoch: 2 });
    const before = a.said.length;
    a.process.stdin.write('write\n'); // the first thing it does when it wakes
    a.process.kill('SIGCONT');
    expect(await a.heard('written', before)).toMatchObject({
      epoch: 1,
      current: false,
      verdict: { kind: 'void', error: 'stale epoch' },
    });
    await a.heard('stop', before);
    b.process.stdin.write('write\n');
    expect(await b.heard('written')).toMatchObject({ current: true, epoch: 2, verdict: { kind: 'noop' } });
  });

  it('a holder keeps its term when NATS is killed and comes back', async () => {
    const [a, b] = await pair();
    const { pid } = nats;
    process.kill(nats.pid, 'SIGKILL');
    await until('NATS is back', () => nats.pid !== pid && link.up);
    const store = new KvLeaseStore(link);
    // Longer than any lease of before: whoever has it now has renewed it since.
    const end = performance.now() + 2 * TTL_MS;
    await until('two TTLs are over', () => performance.now() > end);
    expect(await store.acquire('broker', 'x', TTL_MS)).toBeUndefined();
    expect(a.said.filter((s) => s.event === 'stop')).toEqual([]);
    expect(b.said.filter((s) => s.event === 'start')).toEqual([]);
    a.process.stdin.write('write\n');
    expect(await a.heard('written')).toMatchObject({ current: true, verdict: { kind: 'noop' } });
  });

  it('ST-15: through any number of takeovers the epochs in the log rise by one', async () => {
    const [a, b] = await pair();
    a.process.kill('SIGKILL');
    await b.heard('start');
    b.process.kill('SIGTERM');
    await b.heard('bye');
    const c = await contend('c');
    await c.heard('start');
    const txns: Txn[] = [];
    const journal = new Journal(link);
    const follower = await journal.follow({ from: 1, onTxns: (batch) => void txns.push(...batch), onError: () => {} });
    await follower.caughtUp;
    await follower.stop();
    journal.close();
    expect(txns.flatMap((t) => (t.type === 'LeaseAcquired' ? [[t.payload.Holder, t.payload.Epoch]] : []))).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
  });
});

describe('KvLeaseStore', () => {
  it('gives the lease to one of many who ask at once', async () => {
    const stores = await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        const own = await connect({ url: nats.url, name: `s${i}` });
        return { own, store: new KvLeaseStore(own) };
      }),
    );
    const got = await Promise.all(stores.map(({ store }, i) => store.acquire('nodes', `h${i}`, TTL_MS)));
    expect(got.filter((r) => r !== undefined)).toHaveLength(1);
    await Promise.all(stores.map(({ own }) => own.close()));
  });

  it('tells a watcher soon after it expired; renewing keeps the TTL', async () => {
    const ttlMs = 4_000; // far above what a busy machine stands still for
    const store = new KvLeaseStore(link);
    let revision = await until('it is taken', () => store.acquire('nodes', 'a', ttlMs).catch(() => undefined));
    let freed = 0;
    const stop = store.watch('nodes', () => freed++);
    const renewedUntil = performance.now() + 1.5 * ttlMs;
    while (performance.now() < renewedUntil) {
      // As a holder does: an attempt that is not answered in time is made again.
      revision = await until('it is renewed', () => store.renew('nodes', 'a', ttlMs, revision).catch(() => undefined));
      const pause = performance.now() + 200;
      await until('a pause is over', () => performance.now() > pause);
    }
    expect(freed).toBe(0);
    await until('it is free', () => freed > 0, ttlMs + 4_000);
    expect(await store.renew('nodes', 'a', ttlMs, revision)).toBeUndefined();
    expect(await store.acquire('nodes', 'b', ttlMs)).toBeDefined();
    stop();
  });

  it('nothing is taken or renewed while the connection that carries the log is down', async () => {
    const log = { up: true };
    const store = new KvLeaseStore(link, log);
    const revision = await store.acquire('nodes', 'a', 5_000);
    log.up = false;
    await expect(store.renew('nodes', 'a', 5_000, revision!)).rejects.toThrow('not connected to NATS');
    await store.release('nodes', revision!); // the holder lets go all the same
    await expect(store.acquire('nodes', 'b', 5_000)).rejects.toThrow('not connected to NATS');
    log.up = true;
    expect(await store.acquire('nodes', 'b', 5_000)).toBeDefined();
  });

  it('a renewal whose answer was lost is found to be ours; somebody else’s is not', async () => {
    const store = new KvLeaseStore(link);
    const first = await store.acquire('nodes', 'a', 5_000);
    const second = await store.renew('nodes', 'a', 5_000, first!); // suppose nobody heard this
    expect(await store.renew('nodes', 'a', 5_000, first!)).toBe(second);
    expect(await store.renew('nodes', 'b', 5_000, first!)).toBeUndefined();
    await store.release('nodes', first!); // a stale release does nothing
    expect(await store.acquire('nodes', 'b', 5_000)).toBeUndefined();
    await store.release('nodes', second!);
    expect(await store.acquire('nodes', 'b', 5_000)).toBeDefined();
  });
});
