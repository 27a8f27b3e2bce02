import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats } from '@waybill/embedded';
import { connect } from '@waybill/journal';
import { dequeue, NatsRpc, type RpcContext, RpcServer } from '@waybill/rpc';
import { afterEach, expect, it } from 'vitest';
import { eventually } from './support/wait.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (let step = cleanups.pop(); step; step = cleanups.pop()) await step();
});

it('an answer that hands something over is taken back when the asker has died, and only then', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-test-'));
  cleanups.push(() => rm(dir, { recursive: true, force: true }));
  const nats = await startNats({ dir });
  cleanups.push(() => nats.stop());
  const broker = await connect({ url: nats.url, name: 'broker' });
  cleanups.push(() => broker.nc.close());
  const server = new RpcServer(broker.nc);
  const asked: (() => void)[] = [];
  const takenBack: number[] = [];
  const handler = async (n: number, context: RpcContext) => {
    context.ifUnheard(() => takenBack.push(n));
    await new Promise<void>((answer) => asked.push(answer));
    return n;
  };
  server.addHandler(dequeue.name, handler as never);
  server.listen(() => {});
  cleanups.push(() => server.close());

  const alive = await connect({ url: nats.url, name: 'alive' });
  cleanups.push(() => alive.nc.close());
  const dying = await connect({ url: nats.url, name: 'dying' });
  const lost = new NatsRpc(dying.nc).ask(dequeue, 1 as never).catch(() => undefined);
  await eventually('the first is waiting', () => Promise.resolve(asked.length === 1));
  const heard = new NatsRpc(alive.nc).ask(dequeue, 2 as never);
  await eventually('both are waiting', () => Promise.resolve(asked.length === 2));
  await dying.nc.close();
  for (const answer of asked) answer();
  expect(await heard).toBe(2);
  await eventually('the one nobody heard came back', () => Promise.resolve(takenBack.length > 0));
  await lost;
  expect(takenBack).toEqual([1]);
});
