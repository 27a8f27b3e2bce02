import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeTime, settle } from '@waybill/model';
import { RpcUnavailableError } from '@waybill/rpc';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CountedController } from '../fixtures/counted-controller.js';
import { FILE_LOOK_MS, fileSource } from './file-source.store.js';
import { SERVICE_READ_RETRY_MS, serviceSource } from './service-source.js';

/** So often something is looked at while a task runs on. */
const LOOKS = 50;
const OFTEN = { interval: 1, timeout: 5_000 };

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
      await vi.waitFor(() => expect(told).toHaveLength(look), OFTEN);
      await time.pass(FILE_LOOK_MS);
    }
    await vi.waitFor(() => expect(told).toHaveLength(LOOKS + 1), OFTEN);
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
    serviceSource({ rpc, timers: time, identity, allocId: 'a' }).watch('db', () => {}, over.signal);
    for (let look = 0; look < LOOKS; look++) await time.pass(SERVICE_READ_RETRY_MS);
    expect(asked).toBe(LOOKS + 1);
    expect(over.listeners).toBe(1);
    over.abort();
    await settle();
    await time.pass(10 * SERVICE_READ_RETRY_MS);
    expect(asked).toBe(LOOKS + 1);
  });
});
