import { FakeTime, NS_PER_SECOND, rfc3339FromMs } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { type Health, healthTermsOf, HealthWatch, type WatchedCheck, type WatchedTask } from './health-watch.js';
import type { TaskKind } from '../tasks/task-lifecycle.js';

const TERMS = { minHealthyTimeNs: 10 * NS_PER_SECOND, healthyDeadlineNs: 60 * NS_PER_SECOND, useChecks: true };

function setup(kinds: Record<string, TaskKind> = { web: 'main' }, terms = TERMS) {
  const time = new FakeTime();
  const clock = { setBackMs: 0, nowMs: () => time.nowMs() - clock.setBackMs };
  const told: Health[] = [];
  const tasks = new Map<string, WatchedTask>(
    Object.entries(kinds).map(([name, kind]) => [
      name,
      { name, kind, state: { State: 'pending', Failed: false, StartedAt: null } },
    ]),
  );
  const checks = new Map<string, WatchedCheck>();
  const watch = new HealthWatch(
    terms,
    {
      watched: () => ({ tasks: [...tasks.values()], checks: [...checks.values()] }),
      decided: (health) => void told.push(health),
    },
    clock,
    time,
  );
  const become = (name: string, state: Partial<WatchedTask['state']>) => {
    const task = tasks.get(name)!;
    tasks.set(name, { ...task, state: { ...task.state, ...state } });
    watch.evaluateHealth();
  };
  const starts = (name: string) => become(name, { State: 'running', StartedAt: rfc3339FromMs(time.nowMs()) });
  const ends = (name: string, Failed = false) => become(name, { State: 'dead', Failed });
  /** Sets the status of a check from now on; "" stands for the group. */
  const checkIs = (service: string, status: WatchedCheck['status'], task = 'web') => {
    const before = checks.get(service)?.passingSinceMs;
    const passingSinceMs = status === 'success' ? (before ?? time.nowMs()) : undefined;
    checks.set(service, { service, task, status, passingSinceMs });
    watch.evaluateHealth();
  };
  watch.evaluateHealth();
  return { time, clock, told, watch, starts, ends, become, checkIs };
}

const HEALTHY: Health = { healthy: true, because: {} };

describe('health of an allocation', () => {
  it('AG-123, AG-431, DP-303: healthy after min_healthy_time since the latest start, without a break', async () => {
    const { time, told, starts, become } = setup({ web: 'main', proxy: 'prestart-sidecar' });
    starts('proxy');
    await time.pass(5_000);
    starts('web');
    await time.pass(9_000);
    become('proxy', { State: 'pending' });
    starts('proxy');
    await time.pass(9_999);
    expect(told).toEqual([]);
    await time.pass(1);
    expect(told).toEqual([HEALTHY]);
    await time.pass(1_000_000);
    expect(told).toHaveLength(1);
    expect(time.pending).toBe(0);
  });

  it('AG-123: ephemeral tasks that ended well, and those that run at the end, do not disturb', async () => {
    const { time, told, starts, ends } = setup({ init: 'prestart', web: 'main', warm: 'poststart', bye: 'poststop' });
    starts('init');
    ends('init');
    starts('web');
    starts('warm');
    await time.pass(1_000);
    ends('warm');
    await time.pass(9_000);
    expect(told).toEqual([HEALTHY]);
  });

  it('AG-432: a slow start is healthy in the end', async () => {
    const { time, told, starts } = setup();
    await time.pass(45_000);
    starts('web');
    await time.pass(10_000);
    expect(told).toEqual([HEALTHY]);
  });

  it('AG-124, AG-430, DP-303: all checks pass without a break for min_healthy_time, beside the time of the tasks', async () => {
    const { time, told, starts, checkIs } = setup();
    checkIs('http', 'pending');
    starts('web');
    await time.pass(4_000);
    checkIs('http', 'success');
    await time.pass(9_000);
    checkIs('http', 'failure');
    checkIs('http', 'success');
    await time.pass(9_999);
    expect(told).toEqual([]);
    await time.pass(1);
    expect(told).toEqual([HEALTHY]);
  });

  it('AG-124, DP-303: checks that pass for long begin again with the tasks', async () => {
    const { time, told, starts, become, checkIs } = setup();
    starts('web');
    checkIs('http', 'success', '');
    await time.pass(9_000);
    become('web', { State: 'pending' });
    starts('web');
    await time.pass(9_999);
    expect(told).toEqual([]);
    await time.pass(1);
    expect(told).toEqual([HEALTHY]);
  });

  it('AG-124, AG-130: task states alone decide where checks are not asked for; what is pending does not pass', async () => {
    const states = setup(undefined, { ...TERMS, useChecks: false });
    const checked = setup();
    for (const one of [states, checked]) {
      one.starts('web');
      one.checkIs('http', 'pending');
      await one.time.pass(10_000);
    }
    expect(states.told).toEqual([HEALTHY]);
    expect(checked.told).toEqual([]);
  });

  it('AG-128, DP-305: the deadline says which services were not healthy', async () => {
    const because = async (set: (checkIs: ReturnType<typeof setup>['checkIs']) => void) => {
      const { time, told, starts, checkIs } = setup();
      starts('web');
      set(checkIs);
      await time.pass(60_000);
      return told[0]?.because['web'];
    };
    expect(
      await because((checkIs) => {
        checkIs('http', 'failure');
        checkIs('admin', 'pending', '');
        checkIs('db', 'success');
      }),
    ).toBe('Services not healthy by deadline: http, admin');
    expect(await because((checkIs) => checkIs('http', undefined))).toBe('Service checks not registered');
    expect(
      await because((checkIs) => {
        checkIs('http', 'success');
        checkIs('db', undefined);
      }),
    ).toBe('Only 1 out of 2 checks registered and passing');
  });

  it('AG-132: with min_healthy_time 0 as soon as all run', () => {
    const { told, starts } = setup({ web: 'main' }, { ...TERMS, minHealthyTimeNs: 0 });
    starts('web');
    expect(told).toEqual([HEALTHY]);
  });

  it('AG-125, DP-304, DP-305: unhealthy at once when a task failed or one ended that should go on', () => {
    const failed = setup({ init: 'prestart', web: 'main' });
    failed.ends('init', true);
    expect(failed.told).toEqual([{ healthy: false, because: { init: 'Unhealthy because of failed task' } }]);
    const dead = setup({ web: 'main', proxy: 'poststart-sidecar' });
    dead.starts('web');
    dead.ends('proxy');
    expect(dead.told).toEqual([{ healthy: false, because: { proxy: 'Unhealthy because of dead task' } }]);
    const poststop = setup({ web: 'main', bye: 'poststop' });
    poststop.ends('bye', true);
    expect(poststop.told).toEqual([]);
  });

  it('AG-126, AG-128, DP-305: unhealthy at the deadline, with the reason of each responsible task', async () => {
    const { time, told, starts } = setup({ web: 'main', slow: 'main', old: 'main' });
    starts('old');
    await time.pass(55_000);
    starts('slow');
    await time.pass(4_999);
    expect(told).toEqual([]);
    await time.pass(1);
    expect(told).toEqual([
      {
        healthy: false,
        because: {
          web: 'Task not running by healthy_deadline of 1m0s',
          slow: 'Task not running for min_healthy_time of 10s by healthy_deadline of 1m0s',
        },
      },
    ]);
  });

  it('AG-126: the deadline comes even where its timer is early by the clock', async () => {
    const { time, clock, told, starts, checkIs } = setup();
    starts('web');
    checkIs('api', 'failure');
    clock.setBackMs = 1;
    await time.pass(60_000);
    expect(told).toEqual([{ healthy: false, because: { web: 'Services not healthy by deadline: api' } }]);
  });

  it('AG-433: health in the instant of the deadline is one result', async () => {
    const { time, told, starts } = setup();
    await time.pass(50_000);
    starts('web');
    await time.pass(100_000);
    expect(told).toEqual([HEALTHY]);
  });

  it('AG-127, DP-307: nothing is told after a stop', async () => {
    const { time, told, watch, starts } = setup();
    starts('web');
    watch.stop();
    await time.pass(100_000);
    expect(told).toEqual([]);
    expect(time.pending).toBe(0);
  });

  it('AG-120, AG-121, AG-435, DP-302, DP-308: whose health is watched, and by which times', () => {
    const update = { ...fixtures.aGroup({}).Update!, MaxParallel: 1, HealthCheck: 'checks', MinHealthyTime: 7e9 };
    const migrate = { MaxParallel: 1, HealthCheck: 'checks', MinHealthyTime: 8e9, HealthyDeadline: 90e9 };
    const group = fixtures.aGroup({ Update: { ...update, HealthyDeadline: 70e9 }, Migrate: migrate });
    expect(healthTermsOf(group, 'service', true)).toEqual({
      minHealthyTimeNs: 7e9,
      healthyDeadlineNs: 70e9,
      useChecks: true,
    });
    const byStates = { ...group, Update: { ...update, HealthCheck: 'task_states' } };
    expect(healthTermsOf(byStates, 'service', true)).toMatchObject({ useChecks: false });
    expect(healthTermsOf(group, 'system', false)).toEqual({
      minHealthyTimeNs: 8e9,
      healthyDeadlineNs: 90e9,
      useChecks: true,
    });
    const defaults = { minHealthyTimeNs: 10e9, healthyDeadlineNs: 300e9, useChecks: true };
    expect(healthTermsOf({ ...group, Migrate: null }, 'service', false)).toEqual(defaults);
    expect(healthTermsOf(group, 'batch', true)).toBeUndefined();
    expect(healthTermsOf({ ...group, Update: null }, 'service', true)).toBeUndefined();
    for (const over of [{ MaxParallel: 0 }, { HealthCheck: 'manual' }])
      expect(healthTermsOf({ ...group, Update: { ...update, ...over } }, 'service', true)).toBeUndefined();
  });
});
