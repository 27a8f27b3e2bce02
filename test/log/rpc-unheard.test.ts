import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats } from '@waybill/embedded';
import { connect } from '@waybill/journal';
import { dequeue, NatsRpc, type RpcContext, RpcServer } from '@waybill/rpc';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (let step = cleanups.pop(); step; step = cleanups.pop()) await step();
});

async function startServer(): Promise<{ readonly url: string; readonly serve: (handler: unknown) => Promise<void> }> {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-test-'));
  cleanups.push(() => rm(dir, { recursive: true, force: true }));
  const nats = await startNats({ dir });
  cleanups.push(() => nats.stop());
  const broker = await connect({ url: nats.url, name: 'broker' });
  cleanups.push(() => broker.nc.close());
  const server = new RpcServer(broker.nc);
  cleanups.push(() => server.close());
  const serve = async (handler: unknown): Promise<void> => {
    server.addHandler(dequeue.name, handler as never);
    server.listen(() => {});
    await broker.nc.flush();
  };
  return { url: nats.url, serve };
}

it('an answer that hands something over is taken back when the asker has died, and only then', async () => {
  const { url, serve } = await startServer();
  const asked: (() => void)[] = [];
  const takenBack: number[] = [];
  const handler = async (n: number, context: RpcContext) => {
    context.ifUndelivered(() => takenBack.push(n));
    await new Promise<void>((answer) => asked.push(answer));
    return n;
  };
  await serve(handler);

  const alive = await connect({ url, name: 'alive' });
  cleanups.push(() => alive.nc.close());
  const dying = await connect({ url, name: 'dying' });
  const lost = new NatsRpc(dying.nc).ask(dequeue, 1 as never).catch(() => undefined);
  await eventually('the first is waiting', () => Promise.resolve(asked.length === 1));
  const heard = new NatsRpc(alive.nc).ask(dequeue, 2 as never);
  await eventually('both are waiting', () => Promise.resolve(asked.length === 2));
  await dying.nc.drain(); // and not close: then the server might read of it after the answers
  for (const answer of asked) answer();
  expect(await heard).toBe(2);
  await eventually('the one nobody heard came back', () => Promise.resolve(takenBack.length > 0));
  await lost;
  expect(takenBack).toEqual([1]);
});

it('an asker that has its answer is found as long as its connection lasts, and is not troubled by it', async () => {
  const { url, serve } = await startServer();
  const contexts: RpcContext[] = [];
  const handler = (n: number, context: RpcContext) => {
    contexts.push(context);
    return n;
  };
  await serve(handler);
  const alive = await connect({ url, name: 'alive' });
  cleanups.push(() => alive.nc.close());
  const dying = await connect({ url, name: 'dying' });
  const askers = [new NatsRpc(dying.nc), new NatsRpc(alive.nc)];
  for (const [n, asker] of askers.entries()) await asker.ask(dequeue, n as never);

  const gone: number[] = [];
  const lookForAll = () => contexts.slice(0, 2).forEach((context, n) => context.checkCaller(() => gone.push(n)));
  lookForAll();
  expect(await askers[0]!.ask(dequeue, 7 as never)).toBe(7); // behind it on the same connection
  expect(gone).toEqual([]);
  await dying.nc.drain();
  lookForAll();
  await eventually('the one that died is missed', () => Promise.resolve(gone.length > 0));
  expect(await askers[1]!.ask(dequeue, 8 as never)).toBe(8);
  expect(gone).toEqual([0]);
});
