import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { canSetClocks, SettableClock } from '../support/set-clock.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, type ServiceName, WaybillProcesses } from '../support/waybill-processes.js';

const SERVICES: readonly ServiceName[] = [...CONTROL_PLANE, 'agent'];
/** Most of the time goes with waiting: two clusters at once, in each of which half of the services have clocks of their own. */
const HALVES = [SERVICES.slice(0, 4), SERVICES.slice(4)];
/** In each cluster, those that have no clock of their own share one. */
const OTHERS = 'others';
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

const paused = (ms: number): Promise<unknown> => {
  const untilMs = performance.now() + ms;
  return eventually('time has passed', () => performance.now() >= untilMs);
};

/** A cluster in which some services have clocks of their own. */
class ClusterWithClocks {
  private readonly beganMs = Date.now();

  private constructor(
    readonly waybill: WaybillProcesses,
    /** By the name of the service, and one for OTHERS. */
    readonly clocks: ReadonlyMap<string, SettableClock>,
    private readonly dir: string,
  ) {}

  static async start(withOwnClock: readonly ServiceName[]): Promise<ClusterWithClocks> {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-clocks-'));
    const names = [...withOwnClock, OTHERS];
    const clocks = new Map(names.map((name) => [name, new SettableClock(path.join(dir, name))]));
    const env = (name: string): NodeJS.ProcessEnv => clocks.get(name)?.env ?? {};
    const waybill = await WaybillProcesses.startTogether(env(OTHERS), SERVICES, withOwnClock, {}, env);
    const cluster = new ClusterWithClocks(waybill, clocks, dir);
    await eventually('the node is ready', async () => (await cluster.nodes()).includes('ready'));
    const everySecond = { Enabled: true, Spec: '* * * * * * *', SpecType: 'cron', TimeZone: 'UTC' };
    await cluster.api.register({ ...shellJob(LAUNCHED, 'exit 0', { type: 'batch' }), Periodic: everySecond });
    return cluster;
  }

  async stop(): Promise<void> {
    await this.waybill.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  private get api(): ApiClient {
    return this.waybill.api;
  }

  /** Status of each. */
  async nodes(): Promise<string[]> {
    return (await this.api.get<{ Status: string }[]>('/v1/nodes')).map(({ Status }) => Status);
  }

  /** A rollout of one healthy allocation, and one that fails and is rescheduled after 5 s, by which all services have to decide. */
  async expectWork(name: string): Promise<void> {
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
    await this.api.register({ ...rollout, Update: update });
    await this.api.register({ ...failing, Reschedule: reschedule });
    const deployment = await eventually(
      `the rollout of ${name} succeeds`,
      async () => {
        const found = await this.api.get<{ Status: string } | null>(`/v1/job/${name}-rollout/deployment`);
        return found?.Status === 'successful' && found;
      },
      DONE_MS,
    );
    expect(deployment.Status).toBe('successful');
    const allocs = await eventually(
      `${name}-failing is rescheduled`,
      async () => {
        const found = await this.api.get<Alloc[]>(`/v1/job/${name}-failing/allocations`);
        return found.length > 1 && found.toSorted((a, b) => a.CreateTime - b.CreateTime);
      },
      DONE_MS,
    );
    expect((allocs[1]!.CreateTime - allocs[0]!.CreateTime) / 1e6).toBeGreaterThan(3_000);
    for (const { CreateTime, ModifyTime } of allocs)
      for (const time of [CreateTime, ModifyTime]) {
        expect(time / 1e6).toBeGreaterThan(this.beganMs - NEAR_MS);
        expect(time / 1e6).toBeLessThan(Date.now() + NEAR_MS);
      }
    await Promise.all([this.api.stop(`${name}-rollout`, true), this.api.stop(`${name}-failing`, true)]);
  }

  /** When the periodic job was launched, by the names of its launches, unix ms. */
  private async launches(): Promise<number[]> {
    const jobs = await this.api.get<{ ID: string }[]>(`/v1/jobs?prefix=${LAUNCHED}/`);
    return jobs.map(({ ID }) => Number(ID.slice(ID.lastIndexOf('-') + 1)) * 1_000);
  }

  /** It is launched again, soon, and was never launched at a time that was not. */
  async expectLaunches(): Promise<void> {
    const nowMs = Date.now();
    await eventually('the job is launched', async () => (await this.launches()).some((ms) => ms > nowMs), DONE_MS);
    const wrong = (await this.launches()).filter((ms) => ms < this.beganMs - NEAR_MS || ms > Date.now() + NEAR_MS);
    expect(wrong).toEqual([]);
  }
}

describe.skipIf(!canSetClocks).concurrent.each(HALVES)(
  'the clock of one process is wrong (needs libfaketime)',
  (...half) => {
    let cluster: ClusterWithClocks;
    beforeAll(async () => {
      cluster = await ClusterWithClocks.start(half);
    }, 600_000);
    afterAll(() => cluster?.stop());

    it.sequential.each(half)(
      'AU-261: of %s jumps by an hour and a day, forward and back: launches, follow-ups and rollouts go on by the right time',
      async (service) => {
        const clock = cluster.clocks.get(service)!;
        for (const jump of JUMPS_S) {
          clock.set(jump);
          await paused(NOTICED_MS);
          await Promise.all([
            cluster.expectLaunches(),
            ...(jump === JUMPS_S[0] ? [cluster.expectWork(`${service}-wrong`)] : []),
          ]);
        }
        clock.right();
        await paused(NOTICED_MS);
        await cluster.expectLaunches();
        expect(await cluster.nodes()).toEqual(['ready']);
      },
      300_000,
    );

    it.sequential('of each is fast or slow: launches, follow-ups and rollouts go on by the right time', async () => {
      [...cluster.clocks.values()].forEach((clock, n) => clock.set(0, n % 2 === 0 ? 0.05 : -0.05));
      await paused(NOTICED_MS);
      await Promise.all([cluster.expectWork('drifting'), cluster.expectLaunches()]);
      for (const clock of cluster.clocks.values()) clock.right();
      await Promise.all([cluster.expectWork('right-again'), cluster.expectLaunches()]);
    }, 300_000);

    if (half.includes('broker'))
      it.sequential('a service that starts with a wrong clock believes NATS', async () => {
        const clock = cluster.clocks.get('broker')!;
        clock.set(24 * HOUR_S);
        await cluster.waybill.kill('broker');
        await cluster.waybill.startService('broker', 'broker', clock.env);
        await Promise.all([cluster.expectWork('restarted'), cluster.expectLaunches()]);
        clock.right();
      }, 300_000);

    it.sequential('log and state are found to be in order after all of it', async () => {
      const { stack } = cluster.waybill;
      const env = { ...process.env, WAYBILL_NATS_URL: stack.natsUrl, WAYBILL_DATABASE_URL: stack.databaseUrl };
      for (const what of ['log', 'state']) await promisify(execFile)(process.execPath, [VERIFY, what], { env });
    }, 120_000);
  },
);
