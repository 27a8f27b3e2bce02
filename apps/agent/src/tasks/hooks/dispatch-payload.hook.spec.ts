import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fixtures } from '@waybill/state';
import type { Job } from '@waybill/model';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DispatchPayloadHook } from './dispatch-payload.hook.js';
import type { TaskStart } from '../task-hook.js';

let taskDir: string;
beforeEach(() => {
  taskDir = mkdtempSync(path.join(tmpdir(), 'waybill-payload-'));
  for (const name of ['local', 'private']) mkdirSync(path.join(taskDir, name));
});
afterEach(() => rmSync(taskDir, { recursive: true, force: true }));

const written = async (job: Partial<Job>): Promise<string | undefined> => {
  const task = fixtures.aTask({ DispatchPayload: { File: 'in.json' } });
  const paths = { taskDir, privateDir: path.join(taskDir, 'private') };
  await new DispatchPayloadHook().prestart({ job: fixtures.aJob(job), task, config: { paths } } as TaskStart);
  const file = path.join(taskDir, 'local/in.json');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};

it('AG-291: the payload of a dispatched job is a file', async () => {
  expect(await written({ Dispatched: true, Payload: Buffer.from('{}').toString('base64') })).toBe('{}');
});

it('AG-291: a dispatch without payload leaves an empty file, so a task can open it', async () => {
  expect(await written({ Dispatched: true, Payload: null })).toBe('');
});

it('AG-291: a job that was not dispatched has no such file', async () => {
  expect(await written({ Dispatched: false })).toBeUndefined();
});
