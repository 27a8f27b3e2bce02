import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NatsCluster, WHOLE_WITHIN_MS } from '../support/nats-cluster.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const VERIFY = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));
/**
 * Servers elect a new leader after 4 to 9 s, on a machine with other work after several times that; roles are taken again
 * after it. Less than a read of an agent waits for news.
 */
const RUNNING_WITHIN_MS = 60_000;

let dir: string;
let nats: NatsCluster;
let waybill: WaybillProcesses;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-test-'));
  nats = await NatsCluster.start(dir);
  waybill = await WaybillProcesses.startTogether({ WAYBILL_NATS_URL: nats.url, WAYBILL_STREAM_REPLICAS: '3' });
});
afterEach(async () => {
  await waybill?.stop();
  await nats?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const aJob = (ID: string): object => ({
  ID,
  Type: 'service',
  Datacenters: ['*'],
  TaskGroups: [
    {
      Name: 'group',
      EphemeralDisk: { SizeMB: 10 },
      Tasks: [
        {
          Name: 'task',
          Driver: 'mock_driver',
          Config: { run_for: '1h' },
          Resources: { CPU: 10, MemoryMB: 10 },
          LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
        },
      ],
    },
  ],
});

/** What is waited for, or the failure of what goes on beside it. */
const orFails = (beside: Promise<void>, awaited: Promise<unknown>): Promise<unknown> =>
  Promise.race([awaited, beside.then(() => awaited)]);

interface Listed {
  readonly ID: string;
  readonly JobID: string;
  readonly ClientStatus: string;
}

it('three servers, each killed while jobs are registered: what was acknowledged is there, runs, and runs once', async () => {
  const acknowledged: string[] = [];
  const running = async (id: string): Promise<boolean> =>
    (await waybill.api.get<Listed[]>(`/v1/job/${id}/allocations`)).some((a) => a.ClientStatus === 'running');
  /** Registers one job after the other, each when the last one runs. */
  const registering = async (goesOn: () => boolean): Promise<void> => {
    while (goesOn()) {
      const id = `job-${acknowledged.length}`;
      await eventually(`${id} is accepted`, () => waybill.api.register(aJob(id)), RUNNING_WITHIN_MS);
      acknowledged.push(id);
      await eventually(`${id} runs`, () => running(id), RUNNING_WITHIN_MS);
    }
  };
  for (const n of [0, 1, 2]) {
    const before = acknowledged.length;
    let isWhole = false;
    const user = registering(() => !isWhole || acknowledged.length < before + 5);
    await orFails(
      user,
      eventually('a job is under way', () => acknowledged.length > before),
    );
    await nats.kill(n);
    const during = acknowledged.length;
    await orFails(
      user,
      eventually('jobs are accepted by two', () => acknowledged.length > during + 1, 2 * RUNNING_WITHIN_MS),
    );
    nats.startServer(n);
    await orFails(
      user,
      eventually(`server ${n} has caught up`, () => nats.isWhole(), WHOLE_WITHIN_MS),
    );
    isWhole = true;
    await user;
  }
  const allocations = await waybill.api.get<Listed[]>('/v1/allocations');
  expect(allocations.map(({ JobID }) => JobID).toSorted()).toEqual(acknowledged.toSorted());
  expect(allocations.every(({ ClientStatus }) => ClientStatus === 'running')).toBe(true);
  const env = { ...process.env, WAYBILL_NATS_URL: nats.url, WAYBILL_DATABASE_URL: waybill.stack.databaseUrl };
  for (const what of ['log', 'state']) await promisify(execFile)(process.execPath, [VERIFY, what], { env });
}, 480_000);
