import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger, silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CollectorProcess, collectorSocket } from './collector-process.js';
import { TaskOutputs } from './task-output.js';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(path.join(tmpdir(), 'waybill-outputs-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it.runIf(process.platform === 'linux')('output that cannot be ordered leaves no descriptor open', async () => {
  const outputs = new TaskOutputs(dir, true, silentLogger);
  await outputs.start();
  const spec = { dir, base: 'web.stdout', maxFiles: 1, maxFileBytes: 1 };
  mkdirSync(path.join(dir, 'run.stdout.json.new')); // stands for a full disk
  const refused = () => expect(outputs.open('run', spec, spec)).rejects.toThrow('EISDIR');
  const open = () => readdirSync('/proc/self/fd').length;
  await refused();
  const before = open();
  for (let attempt = 0; attempt < 5; attempt++) await refused();
  expect(open()).toBe(before);
  await outputs.stop();
});

it.runIf(process.platform === 'linux')(
  'AG-240: both files of a task are there, empty, before its first output',
  async () => {
    const outputs = new TaskOutputs(path.join(dir, 'orders'), true, silentLogger);
    await outputs.start();
    const logs = path.join(dir, 'alloc/logs');
    mkdirSync(logs, { recursive: true });
    const spec = (base: string) => ({ dir: logs, base, maxFiles: 1, maxFileBytes: 10 });
    const open = await outputs.open('run', spec('web.stdout'), spec('web.stderr'));
    expect(readdirSync(logs).toSorted()).toEqual(['web.stderr.0', 'web.stdout.0']);
    open.release();
    await outputs.stop();
  },
);

/** Listens in the place of the directory's collector. */
async function collector(): Promise<Server> {
  const server = createServer();
  server.listen(collectorSocket(dir));
  await once(server, 'listening');
  return server;
}

it('a collector that cannot be started at once is tried to be started again', async () => {
  const first = await collector();
  let tellFailure = (): void => {};
  const failed = new Promise<void>((resolve) => (tellFailure = resolve));
  const logger = createLogger('agent', 'error', { destination: { write: () => tellFailure() } });
  const agent = new CollectorProcess(dir, logger);
  const [[connection]] = await Promise.all([once(first, 'connection') as Promise<[Socket]>, agent.start()]);
  mkdirSync(path.join(dir, 'collector.log')); // so that no process can be started
  first.close();
  connection.destroy();
  await failed;
  const second = await collector();
  const [again] = (await once(second, 'connection')) as [Socket];
  agent.stop();
  again.destroy();
  second.close();
});
