import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { userKey } from '@waybill/journal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from './support/api-client.js';
import { eventually } from './support/wait.js';
import { WaybillProcesses } from './support/waybill-processes.js';

const DOC = readFileSync(new URL('../docs/events.md', import.meta.url), 'utf8');
const EXAMPLE = /^```ts\n(.*?)^```/ms.exec(DOC)![1]!;
const ROOT = fileURLToPath(new URL('..', import.meta.url));

describe('docs/events.md', () => {
  let waybill: WaybillProcesses;
  beforeAll(async () => {
    waybill = await WaybillProcesses.start({}, ['projector', 'api']);
  });
  afterAll(() => waybill?.stop());

  it('EV-72: the example for a plain NATS client reads the events of jobs, and nothing else', async () => {
    const before = await waybill.api.register(shellJob('before', 'true'));
    const seed = path.join(waybill.dir, 'events.seed');
    await userKey(seed);
    // Without a type in it, TypeScript is JavaScript.
    const child = spawn(process.execPath, ['--input-type=module', '-e', EXAMPLE], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], NATS_URL: waybill.stack.natsUrl, NATS_SEED: seed },
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => (out += String(data)));
    child.stderr.on('data', (data) => (err += String(data)));
    try {
      await eventually(`the past is read (${err})`, () => out.includes('before'));
      const after = await waybill.api.register(shellJob('after', 'true'));
      await eventually('and what comes', () => out.includes(`${after.Index} Evaluation`));
      expect(out.trim().split('\n')).toEqual([
        `${before.Index} Job JobRegistered before`,
        `${before.Index} Evaluation JobRegistered ${before.EvalID}`,
        `${after.Index} Job JobRegistered after`,
        `${after.Index} Evaluation JobRegistered ${after.EvalID}`,
      ]);
      expect(err).toBe('');
    } finally {
      child.kill();
    }
  });
});
