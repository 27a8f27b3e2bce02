import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeTime, settle } from '@waybill/model';
import { type Call, namedServices, type NamedServicesResponse, type Rpc, RpcUnavailableError } from '@waybill/rpc';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CountedController } from '../../fixtures/counted-controller.js';
import { FILE_LOOK_MS, fileSource } from './file-source.store.js';
import { SERVER_READ_RETRY_MS, ServerReads } from './server-reads.js';

/** The number of looks while a task continues to run. */
const LOOKS = 50;
const OFTEN = { interval: 1 };

describe('what templates read from elsewhere, while their task runs on', () => {
  it('AG-292: a file is looked at again and again at no growing cost, and no more after the task', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'waybill-template-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const taskDir = path.join(dir, 'web');
    await mkdir(taskDir);
    const time = new FakeTime();
    const over = new CountedController();
    const told: unknown[] = [];
    await writeFile(path.join(taskDir, 'key'), '0');
    fileSource(taskDir, time).watch('key', (value) => told.push(value), over.signal);
    for (let look = 1; look <= LOOKS; look++) {
      await expect.poll(() => told, OFTEN).toHaveLength(look);
      await time.pass(FILE_LOOK_MS);
    }
    await expect.poll(() => told, OFTEN).toHaveLength(LOOKS + 1);
    expect(over.listeners).toBe(1);
    over.abort();
    await time.pass(10 * FILE_LOOK_MS);
    expect(told).toHaveLength(LOOKS + 1);
  });

  it('AG-292: servers that are away are asked again and again at no growing cost', async () => {
    const time = new FakeTime();
    const over = new CountedController();
    let asked = 0;
    const rpc = {
      ask: () => {
        asked++;
        return Promise.reject(new RpcUnavailableError('nodes.services', 'nobody is there'));
      },
    };
    const identity = () => ({ ID: 'n', SecretID: 's' });
    new ServerReads({ rpc, timers: time, identity }).of('a', 'web').service.watch('db', () => {}, over.signal);
    for (let look = 0; look < LOOKS; look++) await time.pass(SERVER_READ_RETRY_MS);
    expect(asked).toBe(LOOKS + 1);
    expect(over.listeners).toBe(1);
    over.abort();
    await settle();
    await time.pass(10 * SERVER_READ_RETRY_MS);
    expect(asked).toBe(LOOKS + 1);
    expect(time.pending).toBe(0);
  });

  it('AG-292: a task that is started again and again has one read at the servers, and what is known at once', async () => {
    const waiting: ((answer: NamedServicesResponse) => void)[] = [];
    const rpc: Rpc = {
      ask: <Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> => {
        expect([call.name, request]).toMatchObject([namedServices.name, { AllocID: 'a', ServiceName: 'db' }]);
        return new Promise((resolve) => void waiting.push((answer) => resolve(answer as Res)));
      },
    };
    const reads = new ServerReads({ rpc, timers: new FakeTime(), identity: () => ({ ID: 'n', SecretID: 's' }) });
    const told: unknown[] = [];
    const start = () => {
      const over = new AbortController();
      reads.of('a', 'web').service.watch('db', (value) => told.push(value), over.signal);
      return over;
    };
    const first = start();
    waiting.shift()?.({ Services: [], Index: 7 });
    await settle();
    first.abort();
    for (let again = 0; again < LOOKS; again++) start().abort();
    const last = start();
    expect([waiting.length, told]).toEqual([1, Array(LOOKS + 2).fill([])]);
    waiting.shift()?.({ Services: [], Index: 8 });
    await settle();
    expect([waiting.length, told.length]).toEqual([1, LOOKS + 3]);
    last.abort();
    waiting.shift()?.({ Services: [], Index: 9 });
    await settle();
    expect([waiting.length, told.length]).toEqual([0, LOOKS + 3]);
  });
});
