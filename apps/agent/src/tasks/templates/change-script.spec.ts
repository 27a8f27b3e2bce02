import { FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import { runScript } from './change-script.js';

it('AG-292: a script whose output breaks off is an event of its task, and its timeout is not waited for', async () => {
  const time = new FakeTime();
  const said: unknown[] = [];
  const session = {
    read: () => Promise.reject(new Error('the engine is gone')),
    write: () => Promise.resolve(),
    closeInput: () => {},
    resize: () => {},
    exitCode: Promise.resolve(0),
    kill: () => Promise.resolve(),
  };
  const task = {
    exec: () => Promise.resolve(session),
    emit: (_: string, details: Record<string, string> = {}) => void said.push(details['message']),
  };
  const script = { Command: '/bin/reload', Args: null, Timeout: 3_600e9, FailOnError: false, RunOnFirstRender: false };
  await runScript(task, script, time);
  expect(said).toEqual([expect.stringContaining('the engine is gone')]);
  expect(time.pending).toBe(0);
});
