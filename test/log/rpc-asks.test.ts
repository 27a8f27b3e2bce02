import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats } from '@waybill/embedded';
import { connect, type NatsLink } from '@waybill/journal';
import {
  call,
  isGone,
  isNobodyThere,
  isTooLarge,
  NatsRpc,
  natsPresence,
  onNodesChanged,
  type RpcContext,
  RpcServer,
} from '@waybill/rpc';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';

const echo = call<string, string>('test.echo', { timeoutMs: 20_000 });
const nobody = call<null, null>('test.nobody', { timeoutMs: 20_000 });

const cleanups: (() => unknown)[] = [];
let asking: NatsLink;
let rpc: NatsRpc;
let server: RpcServer;
/** Asks that have arrived, by their text, each to be answered by calling it. */
let arrived: Map<string, () => void>;
let traceparents: (string | undefined)[];
let natsUrl: string;
let restartNats: () => Promise<void>;

beforeEach(async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-test-'));
  cleanups.push(() => rm(dir, { recursive: true, force: true }));
  let nats = await startNats({ dir });
  cleanups.push(() => nats.stop());
  natsUrl = nats.url;
  restartNats = async () => {
    const { port } = new URL(nats.url);
    await nats.stop();
    nats = await startNats({ dir, port: Number(port) });
  };
  const answering = await connect({ url: nats.url, name: 'answering' });
  cleanups.push(() => answering.nc.close());
  asking = await connect({ url: nats.url, name: 'asking' });
  cleanups.push(() => asking.nc.close());
  rpc = new NatsRpc(asking.nc);
  arrived = new Map();
  traceparents = [];
  server = new RpcServer(answering.nc);
  const handler = (text: string, context: RpcContext): Promise<string> => {
    traceparents.push(context.traceparent);
    return new Promise((answer) => arrived.set(text, () => answer(text)));
  };
  server.addHandler(echo.name, handler as never);
  server.listen(() => {});
  await answering.nc.flush();
});

afterEach(async () => {
  for (let step = cleanups.pop(); step; step = cleanups.pop()) await step();
});

const arrivalOf = (text: string) => eventually(`${text} arrives`, () => arrived.get(text));
/** What an ask came to, without an unhandled rejection while the test looks elsewhere. */
const outcomeOf = (ask: Promise<unknown>): Promise<unknown> => ask.catch((error: unknown) => error);

it('many asks in flight get each their own answer, in whatever order', async () => {
  const texts = Array.from({ length: 50 }, (_, n) => `ask ${n}`);
  const asks = texts.map((text) => rpc.ask(echo, text));
  for (const text of texts.toReversed()) (await arrivalOf(text))();
  expect(await Promise.all(asks)).toEqual(texts);
});

it('the trace of the asker travels along, and none where there is none', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const traced = rpc.ask(echo, 'traced', { traceparent });
  (await arrivalOf('traced'))();
  const untraced = rpc.ask(echo, 'untraced');
  (await arrivalOf('untraced'))();
  await Promise.all([traced, untraced]);
  expect(traceparents).toEqual([traceparent, undefined]);
});

it('where nobody answers the asker hears so at once', async () => {
  const error = await outcomeOf(rpc.ask(nobody, null));
  expect(isNobodyThere(error)).toBe(true);
  expect(error).toMatchObject({ name: 'RpcUnavailableError', message: 'no answer to test.nobody: no responder' });
});

it('an ask ends at its timeout; the answer that comes later harms nothing', async () => {
  const late = outcomeOf(rpc.ask(echo, 'late', { timeoutMs: 50 }));
  const answerLate = await arrivalOf('late');
  expect(await late).toMatchObject({ name: 'RpcUnavailableError', reason: 'timeout' });
  answerLate();
  const next = rpc.ask(echo, 'next');
  (await arrivalOf('next'))();
  expect(await next).toBe('next');
});

it('closing the connection ends what is in flight at once, and what is asked afterwards', async () => {
  const inFlight = outcomeOf(rpc.ask(echo, 'in flight'));
  await arrivalOf('in flight');
  await asking.nc.close();
  expect(await inFlight).toMatchObject({ name: 'RpcUnavailableError', reason: 'connection closed' });
  expect(await outcomeOf(rpc.ask(echo, 'too late'))).toMatchObject({ name: 'RpcUnavailableError' });
});

it('after a restart of the server answers come in again', async () => {
  const before = rpc.ask(echo, 'before');
  (await arrivalOf('before'))();
  await before;
  await restartNats();
  await asking.waitUp(20_000);
  const after = await eventually('an ask is answered', async () => {
    const text = `after ${Math.random()}`;
    const ask = rpc.ask(echo, text, { timeoutMs: 500 });
    ask.catch(() => {});
    arrived.clear();
    (await eventually('it arrives', () => arrived.get(text), 500))();
    return (await ask) === text;
  });
  expect(after).toBe(true);
});

it('an ask with a wrong target is refused as unavailable', async () => {
  const badTarget = await outcomeOf(rpc.ask(echo, 'x', { target: 'a.b' }));
  expect(badTarget).toMatchObject({ name: 'RpcUnavailableError' });
});

it('a question, and an answer, that are larger than NATS takes are refused with both sizes; whoever answers goes on', async () => {
  const question = await outcomeOf(rpc.ask(echo, 'x'.repeat(9 * 1024 * 1024)));
  expect(isTooLarge(question)).toBe(true);
  expect(String(question)).toMatch(/test\.echo: the question has 9437186 bytes, and NATS takes 8387584/);
  const largest = 'x'.repeat(8_387_584 - '""'.length);
  const answer = outcomeOf(rpc.ask(echo, largest)); // what says that it is an answer is too much
  (await arrivalOf(largest))();
  expect(String(await answer)).toMatch(/test\.echo: the answer has 8387591 bytes, and NATS takes 8387584/);
  const next = rpc.ask(echo, 'next');
  (await arrivalOf('next'))();
  expect(await next).toBe('next');
});

describe('a watched call', () => {
  const long = call<string, string>('test.long', { timeoutMs: 600_000, watched: true });
  let watching: NatsRpc;

  /** Somebody who answers machine `m`, with a connection of its own. @returns its death */
  async function machine(): Promise<() => Promise<void>> {
    const link = await connect({ url: natsUrl, name: 'machine' });
    cleanups.push(() => link.nc.close());
    const answering = new RpcServer(link.nc, { target: 'm' });
    const handler = (text: string): Promise<string> => new Promise((answer) => arrived.set(text, () => answer(text)));
    answering.addHandler(long.name, handler as never, false, { watched: true });
    answering.listen(() => {});
    await link.nc.flush();
    return () => link.nc.close();
  }
  const ask = (text: string): Promise<string> => watching.ask(long, text, { target: 'm' });

  beforeEach(() => {
    watching = new NatsRpc(asking.nc, undefined, 20);
  });

  it('is waited for as long as whoever took it is at it', async () => {
    await machine();
    let looks = 0;
    const subscription = asking.nc.subscribe('rpc.test.long-under-way.m', { callback: () => void (looks += 1) });
    const asked = ask('slow');
    await eventually('it was looked after', () => looks > 3);
    arrived.get('slow')?.();
    expect(await asked).toBe('slow');
    subscription.unsubscribe();
  });

  it('ends when whoever took it has died, and when another has come in its place', async () => {
    const die = await machine();
    const first = outcomeOf(ask('first'));
    await arrivalOf('first');
    await die();
    expect(isGone(await first)).toBe(true);
    const dieToo = await machine();
    const second = outcomeOf(ask('second'));
    await arrivalOf('second');
    await dieToo();
    await machine();
    expect(await second).toMatchObject({ reason: 'the answering process is gone' });
    const third = ask('third');
    (await arrivalOf('third'))();
    expect(await third).toBe('third');
  });
});

it('whoever ends answers what it has taken, and takes nothing more', async () => {
  const taken = rpc.ask(echo, 'taken');
  const answerTaken = await arrivalOf('taken');
  await server.end();
  expect(isNobodyThere(await outcomeOf(rpc.ask(echo, 'more')))).toBe(true);
  const closed = server.close();
  answerTaken();
  expect(await taken).toBe('taken');
  await closed;
});

it('a machine asks again when the servers have changed, and when its own connection was lost and is back', async () => {
  let told = 0;
  const endHearing = onNodesChanged(asking, () => (told += 1));
  await asking.nc.flush();
  natsPresence(asking.nc).announceChange();
  await eventually('word of the servers', () => told === 1);
  await restartNats();
  await eventually('word of the connection', () => told === 2);
  endHearing();
  natsPresence(asking.nc).announceChange();
  await asking.nc.flush();
  expect(told).toBe(2);
});
