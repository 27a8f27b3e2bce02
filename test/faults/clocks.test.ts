import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { canSetClocks, SettableClock } from '../support/set-clock.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, type ServiceName, WaybillProcesses } from '../support/waybill-processes.js';

const SERVICES: readonly ServiceName[] = [...CONTROL_PLANE, 'agent'];
const HOUR_S = 3_600;
const JUMPS_S = [HOUR_S, -HOUR_S, 24 * HOUR_S, -24 * HOUR_S];
/** How far a time that was stored may be from the true one: what a wrong clock is believed by, and some work. */
const NEAR_MS = 5_000;
/** A process has noticed by then that its clock was set. */
const NOTICED_MS = 1_500;
const DONE_MS = 60_000;
const LAUNCHED = 'launched';
const VERIFY = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));

interface Alloc {
  readonly ID: string;
  readonly ClientStatus: string;
  readonly CreateTime: number;
  readonly ModifyTime: number;
}

let waybill: WaybillProcesses;
let api: ApiClient;
const clocks = new Map<ServiceName, SettableClock>();
let beganMs = 0;

const paused = (ms: number): Promise<unknown> => {
  const untilMs = performance.now() + ms;
  return eventually('time has passed', () => performance.now() >= untilMs);
};

/** A rollout of one healthy allocation, and one that fails and is rescheduled after 5 s, by which all services have to decide. */
async function expectWork(name: string): Promise<void> {
  const rollout = shellJob(`${name}-rollout`, 'exec sleep 600');
  const update = {
    MaxParallel: 1,
    HealthCheck: 'task_states',
    MinHealthyTime: 1e9,
    HealthyDeadline: 60e9,
    ProgressDeadline: 90e9,
  };
  const failing = shellJob(`${name}-failing`, 'exit 1', {
    restart: { Attempts: 0, Mode: 'fail', Interval: 60e9, Delay: 1e9 },
  });
  const reschedule = { Unlimited: true, Delay: 5e9, DelayFunction: 'constant' };
  await api.register({ ...rollout, Update: update });
  await api.register({ ...failing, Reschedule: reschedule });
  const deployment = await eventually(
    `the rollout of ${name} succeeds`,
    async () => {
      const found = await api.get<{ Status: string } | null>(`/v1/job/${name}-rollout/deployment`);
      return found?.Status === 'successful' && found;
    },
    DONE_MS,
  );
  expect(deployment.Status).toBe('successful');
  const allocs = await eventually(
    `${name}-failing is rescheduled`,
    async () => {
      const found = await api.get<Alloc[]>(`/v1/job/${name}-failing/allocations`);
      return found.length > 1 && found.toSorted((a, b) => a.CreateTime - b.CreateTime);
    },
    DONE_MS,
  );
  expect((allocs[1]!.CreateTime - allocs[0]!.CreateTime) / 1e6).toBeGreaterThan(3_000);
  for (const { CreateTime, ModifyTime } of allocs)
    for (const time of [CreateTime, ModifyTime]) {
      expect(time / 1e6).toBeGreaterThan(beganMs - NEAR_MS);
      expect(time / 1e6).toBeLessThan(Date.now() + NEAR_MS);
    }
  await Promise.all([api.stop(`${name}-rollout`, true), api.stop(`${name}-failing`, true)]);
}

/** When the periodic job was launched, by the names of its launches, unix ms. */
async function launches(): Promise<number[]> {
  const jobs = await api.get<{ ID: string }[]>(`/v1/jobs?prefix=${LAUNCHED}/`);
  return jobs.map(({ ID }) => Number(ID.slice(ID.lastIndexOf('-') + 1)) * 1_000);
}

/** It is launched again, soon, and was never launched at a time that was not. */
async function expectLaunches(): Promise<void> {
  const nowMs = Date.now();
  await eventually('the job is launched', async () => (await launches()).some((ms) => ms > nowMs), DONE_MS);
  const wrong = (await launches()).filter((ms) => ms < beganMs - NEAR_MS || ms > Date.now() + NEAR_MS);
  expect(wrong).toEqual([]);
}

describe.skipIf(!canSetClocks)('the clock of one process is wrong (needs libfaketime)', () => {
  beforeAll(async () => {
    waybill = await WaybillProcesses.start({}, []);
    api = waybill.api;
    for (const name of SERVICES) clocks.set(name, new SettableClock(path.join(waybill.dir, `${name}.clock`)));
    // One after the other: together they take longer than a busy machine gives each of them.
    for (const name of SERVICES) await waybill.startService(name, name, clocks.get(name)!.env);
    await eventually('the node is ready', async () =>
      (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
    );
    beganMs = Date.now();
    const everySecond = { Enabled: true, Spec: '* * * * * * *', SpecType: 'cron', TimeZone: 'UTC' };
    await api.register({ ...shellJob(LAUNCHED, 'exit 0', { type: 'batch' }), Periodic: everySecond });
  }, 600_000);
  afterAll(() => waybill?.stop());

  it.each([...SERVICES])(
    'of %s jumps by an hour and a day, forward and back: launches, follow-ups and rollouts go on by the right time',
    async (service) => {
      const clock = clocks.get(service)!;
      for (const jump of JUMPS_S) {
        clock.set(jump);
        await paused(NOTICED_MS);
        await Promise.all([expectLaunches(), ...(jump === JUMPS_S[0] ? [expectWork(`${service}-wrong`)] : [])]);
      }
      clock.right();
      await paused(NOTICED_MS);
      await expectLaunches();
      const nodes = await api.get<{ Status: string }[]>('/v1/nodes');
      expect(nodes.map(({ Status }) => Status)).toEqual(['ready']);
    },
    300_000,
  );

  it('of each is fast or slow: launches, follow-ups and rollouts go on by the right time', async () => {
    SERVICES.forEach((service, n) => clocks.get(service)!.set(0, n % 2 === 0 ? 0.05 : -0.05));
    await paused(NOTICED_MS);
    await Promise.all([expectWork('drifting'), expectLaunches()]);
    for (const clock of clocks.values()) clock.right();
    await Promise.all([expectWork('right-again'), expectLaunches()]);
  }, 300_000);

  it('a service that starts with a wrong clock believes NATS', async () => {
    clocks.get('broker')!.set(24 * HOUR_S);
    await waybill.kill('broker');
    await waybill.startService('broker', 'broker', clocks.get('broker')!.env);
    await Promise.all([expectWork('restarted'), expectLaunches()]);
    clocks.get('broker')!.right();
  }, 300_000);

  it('log and state are found to be in order after all of it', async () => {
    const { stack } = waybill;
    const env = { ...process.env, WAYBILL_NATS_URL: stack.natsUrl, WAYBILL_DATABASE_URL: stack.databaseUrl };
    for (const what of ['log', 'state']) await promisify(execFile)(process.execPath, [VERIFY, what], { env });
  }, 120_000);
});
