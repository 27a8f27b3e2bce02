import { NS_PER_SECOND } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aCheck, aService } from '../fixtures/offered-service.js';
import { aTask, FOREVER, setup } from '../fixtures/running-allocation.js';
import { CheckRestartTerms } from './check-restart.js';
import type { ProbeResult } from './probe.transport.js';

const OK: ProbeResult = { ok: true, output: 'nomad: http ok', statusCode: 200 };
const BROKEN: ProbeResult = { ok: false, output: '', statusCode: 500 };

const terms = (Limit: number, graceS: number) =>
  new CheckRestartTerms({ Limit, Grace: graceS * NS_PER_SECOND, IgnoreWarnings: false }, 10 * NS_PER_SECOND);

describe('when a check restarts its task', () => {
  it('AG-147: once it has failed for (limit - 1) intervals without a pass', () => {
    const three = terms(3, 0);
    const looks = [false, false, true, false, false, false, false].map((passed, at) =>
      three.isDue(passed, at * 10_000, 0),
    );
    expect(looks).toEqual([false, false, false, false, false, true, false]);
    expect(terms(1, 0).isDue(false, 5_000, 0)).toBe(true);
  });

  it('AG-147: what fails within the grace of the start does not count, nor while the task is down', () => {
    const two = terms(2, 15);
    expect(two.isDue(false, 5_000, 0)).toBe(false);
    expect(two.isDue(false, 14_999, 0)).toBe(false);
    expect(two.isDue(false, 15_000, 0)).toBe(false);
    expect(two.isDue(false, 20_000, undefined)).toBe(false);
    expect(two.isDue(false, 25_000, 0)).toBe(false);
    expect(two.isDue(false, 35_000, 0)).toBe(true);
  });

  it('AG-147: a start in between begins the time again', () => {
    const two = terms(2, 0);
    expect(two.isDue(false, 0, 0)).toBe(false);
    expect(two.isDue(false, 10_000, 9_000)).toBe(false);
    expect(two.isDue(false, 20_000, 9_000)).toBe(true);
  });
});

describe('an allocation with a check_restart', () => {
  const CheckRestart = { Limit: 2, Grace: 20 * NS_PER_SECOND, IgnoreWarnings: false };
  const RestartPolicy = {
    Attempts: 1,
    Interval: 3600 * NS_PER_SECOND,
    Delay: NS_PER_SECOND,
    Mode: 'fail',
    RenderTemplates: false,
  };
  const Checks = [aCheck({ CheckRestart })];

  it('AG-114, AG-147: is restarted as a failure, with a grace of its own, until its policy allows no more', async () => {
    const task = aTask('web', FOREVER, { RestartPolicy, Services: [aService({ Checks })] });
    const { time, runner, events, states } = setup([task], { type: 'service', probe: async () => BROKEN });
    runner.runAllocation();
    // The looks are at 5, 15, 25, 35 s; the grace ends at 20 s.
    await time.pass(34_999);
    expect(events('web')).not.toContain('Restart Signaled');
    await time.pass(2);
    expect(events('web')?.slice(-3)).toEqual(['Restart Signaled', 'Terminated', 'Restarting']);
    const signaled = runner.clientUpdate().TaskStates['web']?.Events.find(({ Type }) => Type === 'Restart Signaled');
    expect(signaled?.Details).toEqual({ restart_reason: 'healthcheck: check "alive" unhealthy' });
    await time.pass(1_500);
    expect(states()).toEqual({ web: 'running' });
    await time.pass(33_000);
    expect(states()).toEqual({ web: 'running' });
    await time.pass(3_000);
    expect(events('web')?.slice(-3)).toEqual(['Restart Signaled', 'Terminated', 'Not Restarting']);
    expect(states()).toEqual({ web: 'dead failed' });
  });

  it('AG-147: a check of the group restarts the task that it names, and no other', async () => {
    const group = { Services: [aService({ Checks: [aCheck({ CheckRestart, TaskName: 'web' })] })] };
    const tasks = [aTask('web', FOREVER, { RestartPolicy }), aTask('log', FOREVER, { RestartPolicy })];
    const { time, runner, events } = setup(tasks, { type: 'service', group, probe: async () => BROKEN });
    runner.runAllocation();
    await time.pass(36_000);
    expect(events('web')).toContain('Restart Signaled');
    expect(events('log')).not.toContain('Restart Signaled');
  });

  it('AG-148: a kill at the same moment wins, and both end', async () => {
    const task = aTask(
      'web',
      { run_for: '1000h', kill_after: '5s' },
      { RestartPolicy, Services: [aService({ Checks })] },
    );
    const { time, runner, events, states } = setup([task], { type: 'service', probe: async () => BROKEN });
    runner.runAllocation();
    await time.pass(35_001);
    expect(events('web')?.at(-1)).toBe('Restart Signaled');
    void runner.kill();
    await time.pass(60_000);
    expect(runner.isOver).toBe(true);
    expect(states()).toEqual({ web: 'dead' });
    expect(events('web')?.slice(-3)).toEqual(['Killing', 'Terminated', 'Killed']);
    expect(time.pending).toBe(0);
  });

  it('AG-147: a check that passes restarts nothing', async () => {
    const task = aTask('web', FOREVER, { RestartPolicy, Services: [aService({ Checks })] });
    const { time, runner, events } = setup([task], { type: 'service', probe: async () => OK });
    runner.runAllocation();
    await time.pass(300_000);
    expect(events('web')).not.toContain('Restart Signaled');
  });
});
