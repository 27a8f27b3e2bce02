import { type Allocation, FakeTime, settle, type Task, type TaskGroup } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { AllocationRecord } from './records/allocation-record.js';
import { aTask, FOREVER, lifecycle, NO_RESTARTS, setup } from '../fixtures/running-allocation.js';

const ONE_RESTART = { Attempts: 1, Interval: 3600e9, Delay: 0, Mode: 'fail', RenderTemplates: false };

/** Returns the tasks of the table of agent.md section 15, some time after their start. */
async function running(type: string, main: Partial<Task> = {}, mainConfig: Record<string, unknown> = FOREVER) {
  const task = (name: string, config: Record<string, unknown>, over: Partial<Task> = {}) =>
    aTask(name, config, { RestartPolicy: ONE_RESTART, ...over });
  const started = setup(
    [
      task('main', mainConfig, main),
      task('pre once', { run_for: '1s' }, lifecycle('prestart')),
      task('pre sidecar', FOREVER, lifecycle('prestart', true)),
      task('post once', { run_for: '1s' }, lifecycle('poststart')),
      task('post sidecar', FOREVER, lifecycle('poststart', true)),
      task('poststop', { run_for: '1s' }, lifecycle('poststop')),
    ],
    { type },
  );
  started.runner.runAllocation();
  await started.time.pass(10_000);
  const now = () =>
    Object.values(started.runner.clientUpdate().TaskStates)
      .map((state) => `${state.State}/${state.Restarts}`)
      .join(' ');
  return { ...started, now };
}

/** Requests a restart and waits until it has happened. */
async function restarted({ time, runner }: Pick<Setup, 'time' | 'runner'>, task: string, all: boolean): Promise<void> {
  const answer = runner.restart(task, all);
  await time.pass(0);
  await answer;
}

type Setup = ReturnType<typeof setup>;

const BEFORE = 'running/0 dead/0 running/0 dead/0 running/0 pending/0';

describe('restart by request', () => {
  for (const [what, type, main] of [
    ['service', 'service', {}],
    ['service with a leader', 'service', { Leader: true }],
    ['batch', 'batch', {}],
  ] as const) {
    it(`AG-7, AG-161, AG-162, AG-163, JR-956, JR-957: the table of section 15, ${what}`, async () => {
      const rows: [task: string, all: boolean, after: string][] = [
        ['', true, 'running/1 dead/1 running/1 dead/1 running/1 pending/0'],
        ['', false, 'running/1 dead/0 running/1 dead/0 running/1 pending/0'],
        ['main', false, 'running/1 dead/0 running/0 dead/0 running/0 pending/0'],
      ];
      for (const [task, all, after] of rows) {
        const { time, runner, now } = await running(type, main);
        expect(now()).toBe(BEFORE);
        await restarted({ time, runner }, task, all);
        await time.pass(10_000);
        expect(now()).toBe(after);
      }
    });
  }

  it('AG-160: a sidecar alone; its events in order, its policy not used up', async () => {
    const { time, runner, now, events } = await running('service');
    for (let i = 1; i <= 2; i++) {
      await restarted({ time, runner }, 'pre sidecar', false);
      await time.pass(1_000);
      expect(now()).toBe(`running/0 dead/0 running/${i} dead/0 running/0 pending/0`);
      expect(events('pre sidecar')!.slice(-4)).toEqual(['Restart Signaled', 'Terminated', 'Restarting', 'Started']);
    }
    const messages = runner
      .clientUpdate()
      .TaskStates['pre sidecar']!.Events.slice(-4)
      .map((event) => event.DisplayMessage);
    expect(messages).toEqual([
      'User requested task to restart',
      'Exit Code: 0',
      'Task restarting in 0s',
      'Task started by client',
    ]);
  });

  it('AG-7, AG-108, AG-162, JR-957: dead tasks run again in the order of the lifecycle, not failed, with a start of their own', async () => {
    const { time, runner, events } = await running('service');
    const before = runner.clientUpdate().TaskStates;
    await restarted({ time, runner }, '', true);
    const begun = runner.clientUpdate().TaskStates;
    expect(begun['pre once']).toMatchObject({ State: 'running', FinishedAt: null });
    expect(begun['main']!.State).toBe('pending');
    await time.pass(10_000);
    const after = runner.clientUpdate().TaskStates;
    for (const name of ['main', 'pre once', 'post once']) {
      expect(Date.parse(after[name]!.StartedAt!)).toBeGreaterThan(Date.parse(before[name]!.StartedAt!));
      expect(after[name]!.LastRestart).not.toBeNull();
    }
    expect(events('post once')!.slice(-4)).toEqual(['Restart Signaled', 'Restarting', 'Started', 'Terminated']);
  });

  it('main that exits twice ends as in the table, and cannot be restarted then', async () => {
    for (const exit_code of [0, 1]) {
      const { runner, now, time } = await running('service', {}, { run_for: '20s', exit_code });
      await time.pass(60_000);
      expect(now()).toBe('dead/1 dead/0 dead/0 dead/0 dead/0 dead/0');
      await expect(runner.restart('main', false)).rejects.toThrow('restart of an alloc that should not run');
    }
  });

  it('AG-163, AG-412, JR-956, JR-957: what is refused, with the texts of the contract', async () => {
    const { runner, alloc } = await running('service');
    await expect(runner.restart('main', true)).rejects.toThrow('task name cannot be set when restarting all tasks');
    await expect(runner.restart('x', false)).rejects.toThrow('Could not find task runner for task: x');
    await expect(runner.restart('pre once', false)).rejects.toThrow('Task not running');
    await expect(runner.restart('poststop', false)).rejects.toThrow('Task not running');
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    for (const all of [true, false])
      await expect(runner.restart('', all)).rejects.toThrow('restart of an alloc that should not run');
  });

  it('AG-413, JR-956: in the middle of a restart delay it is not running, and the delay goes on', async () => {
    const policy = { ...ONE_RESTART, Delay: 60e9 };
    const { time, runner, states } = setup([aTask('web', { run_for: '1s', exit_code: 1 }, { RestartPolicy: policy })]);
    runner.runAllocation();
    await time.pass(1_000);
    await expect(runner.restart('web', false)).rejects.toThrow('Task not running');
    await runner.restart('', false);
    await time.pass(59_000);
    expect(states()).toEqual({ web: 'pending' });
    await time.pass(1_000);
    expect(states()).toEqual({ web: 'running' });
  });

  it('AG-164, JR-957: a task that was killed stays down, and the request does not fail', async () => {
    const { time, runner, states } = setup([
      aTask('main', { run_for: '5s' }),
      aTask('proxy', FOREVER, lifecycle('prestart', true)),
      aTask('bye', FOREVER, lifecycle('poststop')),
    ]);
    runner.runAllocation();
    await time.pass(6_000);
    expect(states()).toEqual({ main: 'dead', proxy: 'dead', bye: 'running' });
    await runner.restart('', true);
    await time.pass(1_000);
    expect(states()).toEqual({ main: 'dead', proxy: 'dead', bye: 'running' });
  });

  it('AG-166: a stop from the servers while a restart is under way ends stopped', async () => {
    const { time, runner, alloc, states, events } = setup([aTask('web', { ...FOREVER, kill_after: '10s' })], {
      type: 'service',
    });
    runner.runAllocation();
    await settle();
    const answer = runner.restart('web', false);
    await time.pass(1_000);
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    await time.pass(20_000);
    await answer;
    expect(states()).toEqual({ web: 'dead' });
    expect(events('web')!.filter((type) => type === 'Started')).toHaveLength(1);
    expect(runner.clientUpdate().ClientStatus).toBe('complete');
  });

  it('JR-959: the answer comes when the old process has ended and the new start is triggered', async () => {
    const { time, runner, events } = setup([aTask('web', { ...FOREVER, kill_after: '10s' })]);
    runner.runAllocation();
    await settle();
    let answered = false;
    void runner.restart('web', false).then(() => (answered = true));
    await time.pass(9_999);
    expect(answered).toBe(false);
    await time.pass(1);
    expect(answered).toBe(true);
    expect(events('web')!.slice(-2)).toEqual(['Restarting', 'Started']);
  });

  it('AG-154, AG-161: the delay of the group is waited for by a restart of several tasks, that of a task by none', async () => {
    const web = aTask('web', FOREVER, { ShutdownDelay: 60e9 });
    const { time, runner, alloc, events } = setup([web], { type: 'service', group: { ShutdownDelay: 10e9 } });
    runner.runAllocation();
    await settle();
    const starts = () => events('web')!.filter((type) => type === 'Started').length;
    await restarted({ time, runner }, 'web', false);
    expect(starts()).toBe(2);
    const all = runner.restart('', false);
    await time.pass(9_999);
    expect(starts()).toBe(2);
    await time.pass(1);
    await all;
    await settle();
    expect(starts()).toBe(3);
    const DesiredTransition = { ...alloc.DesiredTransition, NoShutdownDelay: true };
    runner.update({ ...alloc, DesiredTransition, AllocModifyIndex: 11 });
    await restarted({ time, runner }, '', false);
    expect(events('web')!.slice(-4)).toEqual(['Restart Signaled', 'Terminated', 'Restarting', 'Started']);
  });

  it('AG-154: the delays of a kill are skipped when the servers say so, also in the middle', async () => {
    for (const skippedAfterMs of [0, 5_000]) {
      const web = aTask('web', FOREVER, { ShutdownDelay: 60e9 });
      const { time, runner, alloc, events } = setup([web], { type: 'service' });
      runner.runAllocation();
      await settle();
      const stopped = { ...alloc, DesiredStatus: 'stop' as const };
      const skipping = { ...stopped, DesiredTransition: { ...alloc.DesiredTransition, NoShutdownDelay: true } };
      if (skippedAfterMs > 0) runner.update({ ...stopped, AllocModifyIndex: 11 });
      await time.pass(skippedAfterMs);
      runner.update({ ...skipping, AllocModifyIndex: 12 });
      await time.pass(0);
      const delay = skippedAfterMs > 0 ? 'Waiting for shutdown delay' : 'Skipping shutdown delay';
      expect(events('web')!.slice(3)).toEqual(['Killing', delay, 'Terminated', 'Killed']);
    }
  });
});

describe('signal by request', () => {
  it('AG-165: to one task or all, with its event; what fails is answered', async () => {
    const { time, runner, events } = setup([
      aTask('web', FOREVER),
      aTask('deaf', { ...FOREVER, signal_error: 'cannot hear' }),
      aTask('bye', {}, lifecycle('poststop')),
    ]);
    runner.runAllocation();
    await time.pass(1_000);
    await runner.signal('web', 'SIGUSR1');
    expect(events('web')!.at(-1)).toBe('Signaling');
    expect(runner.clientUpdate().TaskStates['web']!.Events.at(-1)).toMatchObject({
      Details: { signal: 'SIGUSR1' },
      DisplayMessage: 'Task being sent a signal',
    });
    await expect(runner.signal('deaf', 'SIGUSR1')).rejects.toThrow('cannot hear');
    await expect(runner.signal('bye', 'SIGUSR1')).rejects.toThrow('Task not running');
    await expect(runner.signal('x', 'SIGUSR1')).rejects.toThrow('Task not found');
    await expect(runner.signal('', 'SIGUSR1')).rejects.toThrow(
      '2 errors occurred:\n\t* Failed to signal task: deaf, err: cannot hear\n\t* Failed to signal task: bye, err: Task not running\n\n',
    );
    expect(events('web')!.filter((type) => type === 'Signaling')).toHaveLength(2);
  });
});

describe('usage', () => {
  it('AG-330: the sum of the tasks that run', async () => {
    const { time, runner } = setup([aTask('a', FOREVER), aTask('b', FOREVER), aTask('c', { run_for: '1s' })]);
    runner.runAllocation();
    await time.pass(2_000);
    const usage = await runner.usage('');
    expect(Object.keys(usage.Tasks)).toEqual(['a', 'b']);
    expect(usage.ResourceUsage.MemoryStats).toMatchObject({ RSS: 64 * 1024 * 1024, Measured: ['RSS'] });
    expect(usage.Timestamp).toBe(time.nowMs() * 1e6);
    expect(Object.keys((await runner.usage('b')).Tasks)).toEqual(['b']);
    await expect(runner.usage('x')).rejects.toThrow('has no task "x"');
  });
});

describe('what an allocation waits for, and how long it may run', () => {
  it('AG-53: it starts when its predecessors have ended, and gives up waiting when it is killed', async () => {
    for (const killed of [false, true]) {
      let end = (): void => {};
      const predecessorsEnded = () => new Promise<void>((resolve) => (end = resolve));
      const { time, runner, states, events } = setup([aTask('web', FOREVER)], { predecessorsEnded });
      runner.runAllocation();
      await time.pass(60_000);
      expect(states()).toEqual({ web: 'pending' });
      if (killed) await runner.kill();
      end();
      await time.pass(0);
      expect(states()).toEqual({ web: killed ? 'dead' : 'running' });
      expect(events('web')!.includes('Started')).toBe(!killed);
    }
  });

  it('AG-77: max_run_duration of a batch job ends all, runs no poststop, and is over for good', async () => {
    const tasks = [aTask('web', FOREVER), aTask('bye', {}, lifecycle('poststop'))];
    const given = setup(tasks, { group: { MaxRunDuration: 60e9 } });
    const { time, runner, records, alloc } = setup(tasks, {
      group: { MaxRunDuration: 60e9 },
      alloc: { CreateTime: given.time.nowMs() * 1e6 },
    });
    runner.runAllocation();
    await time.pass(59_999);
    expect(runner.clientUpdate().ClientStatus).toBe('running');
    await time.pass(1);
    expect(runner.clientUpdate()).toMatchObject({
      ClientStatus: 'complete',
      ClientDescription: 'allocation exceeded max_run_duration',
    });
    const { web, bye } = runner.clientUpdate().TaskStates;
    expect(web!.Events.find((event) => event.Type === 'Killing')!.DisplayMessage).toBe(
      'allocation exceeded max_run_duration',
    );
    expect(bye!.StartedAt).toBeNull();
    expect(records.saved.get(alloc.ID)!.expired).toBe(true);
  });

  it('AG-77: its time is one of day: also of a machine that slept meanwhile', async () => {
    const timeOfDay = new FakeTime();
    const { time, runner } = setup([aTask('web', FOREVER)], {
      group: { MaxRunDuration: 60e9 },
      alloc: { CreateTime: timeOfDay.nowMs() * 1e6 },
      deadlines: timeOfDay,
    });
    runner.runAllocation();
    await time.pass(1_000);
    await timeOfDay.pass(60_000);
    await time.pass(1_000);
    expect(runner.clientUpdate().ClientDescription).toBe('allocation exceeded max_run_duration');
  });

  /** Returns the allocation with another group, as after an update in place. */
  const updated = (alloc: Allocation, over: Partial<TaskGroup>): Allocation => ({
    ...alloc,
    AllocModifyIndex: alloc.AllocModifyIndex + 1,
    Job: { ...alloc.Job!, TaskGroups: alloc.Job!.TaskGroups.map((group) => ({ ...group, ...over })) },
  });

  it('AG-77, SC-254: an update in place gives a running allocation another time, or takes it back', async () => {
    const CreateTime = new FakeTime().nowMs() * 1e6;
    for (const [MaxRunDuration, endsMs] of [
      [120e9, 120_000],
      [30e9, 30_000],
      [10e9, 20_000],
      [null, undefined],
    ] as const) {
      const given = { group: { MaxRunDuration: 60e9 }, alloc: { CreateTime } };
      const { time, runner, alloc } = setup([aTask('web', FOREVER)], given);
      runner.runAllocation();
      await time.pass(20_000);
      runner.update(updated(alloc, { MaxRunDuration }));
      await time.pass((endsMs ?? 3_600_000) - 20_000 - 1);
      if (endsMs !== 20_000) expect(runner.clientUpdate().ClientStatus).toBe('running');
      await time.pass(1);
      expect(runner.isOver).toBe(endsMs !== undefined);
    }
  });

  it('AG-77: what has failed stays so when its time passes while its siblings go down', async () => {
    const tasks = [aTask('web', { run_for: '59s', exit_code: 1 }), aTask('slow', { ...FOREVER, kill_after: '10s' })];
    const CreateTime = new FakeTime().nowMs() * 1e6;
    const { time, runner } = setup(tasks, { group: { MaxRunDuration: 60e9 }, alloc: { CreateTime } });
    runner.runAllocation();
    await time.pass(80_000);
    expect(runner.clientUpdate()).toMatchObject({ ClientStatus: 'failed', ClientDescription: 'Failed tasks' });
  });

  it('AG-154: the delay of the group that is waited for is that of the last update in place', async () => {
    const { time, runner, alloc } = setup([aTask('web', FOREVER)], { group: { ShutdownDelay: 60e9 } });
    runner.runAllocation();
    await time.pass(1_000);
    runner.update(updated(alloc, { ShutdownDelay: 5e9 }));
    void runner.kill();
    await time.pass(4_999);
    expect(runner.isOver).toBe(false);
    await time.pass(1);
    expect(runner.isOver).toBe(true);
  });
});

describe('health in a deployment', () => {
  const deployed = { DeploymentID: 'd1' };
  const aDay = { run_for: '24h' };

  it('AG-128, AG-122, DP-301: told with the state once min_healthy_time is over, kept on disk', async () => {
    const { time, runner, reports, records, alloc, make } = setup([aTask('web', aDay)], {
      type: 'service',
      alloc: deployed,
      group: { Update: UPDATE },
    });
    runner.runAllocation();
    await time.pass(9_999);
    expect(reports.at(-1)!.DeploymentStatus).toBeNull();
    await time.pass(1);
    expect(reports.at(-1)!.DeploymentStatus).toMatchObject({ Healthy: true });
    const restored = make(JSON.parse(JSON.stringify(records.saved.get(alloc.ID))));
    expect(restored.clientUpdate().DeploymentStatus).toEqual(reports.at(-1)!.DeploymentStatus);
  });

  it('AG-200: a watch that was under way begins again with the next agent; a health that was set stays', async () => {
    const given = setup([aTask('web', aDay)], { type: 'service', alloc: deployed, group: { Update: UPDATE } });
    const { time, runner, records, alloc, make } = given;
    const record = () => JSON.parse(JSON.stringify(records.saved.get(alloc.ID))) as AllocationRecord;
    runner.runAllocation();
    await time.pass(5_000);
    const second = make(record());
    second.runAllocation();
    await time.pass(4_999);
    expect(second.clientUpdate().DeploymentStatus).toBeNull();
    await time.pass(1);
    const healthy = second.clientUpdate().DeploymentStatus;
    expect(healthy).toMatchObject({ Healthy: true });
    const third = make(record());
    third.runAllocation();
    await time.pass(3_600_000);
    expect(third.clientUpdate().DeploymentStatus).toEqual(healthy);
  });

  it('AG-128, DP-305: unhealthy adds an event to each responsible task; AG-131: and stops nothing', async () => {
    const policy = { ...NO_RESTARTS, Mode: 'delay', Attempts: 100, Interval: 600e9, Delay: 5e9 };
    const { time, runner, states } = setup(
      [aTask('web', { run_for: '8s', exit_code: 1 }, { RestartPolicy: policy }), aTask('ok', aDay)],
      { type: 'service', alloc: deployed, group: { Update: UPDATE } },
    );
    runner.runAllocation();
    await time.pass(60_000);
    expect(runner.clientUpdate().DeploymentStatus).toMatchObject({ Healthy: false });
    const unhealthy = runner.clientUpdate().TaskStates['web']!.Events.find((event) => event.Type === 'Alloc Unhealthy');
    expect(unhealthy!.DisplayMessage).toMatch(
      /^Task not running (by|for min_healthy_time of 10s by) healthy_deadline of 1m0s$/,
    );
    expect(runner.clientUpdate().TaskStates['ok']!.Events.map((event) => event.Type)).not.toContain('Alloc Unhealthy');
    expect(states()['ok']).toBe('running');
  });

  it('DP-308: without a deployment it is judged by the migrate block, and no task is told', async () => {
    const migrate = { MaxParallel: 1, HealthCheck: 'task_states', MinHealthyTime: 3e9, HealthyDeadline: 20e9 };
    const alone = (run: Record<string, unknown>) =>
      setup([aTask('web', run)], { type: 'service', group: { Update: UPDATE, Migrate: migrate } });
    const good = alone(aDay);
    good.runner.runAllocation();
    await good.time.pass(2_999);
    expect(good.runner.clientUpdate().DeploymentStatus).toBeNull();
    await good.time.pass(1);
    expect(good.runner.clientUpdate().DeploymentStatus).toMatchObject({ Healthy: true });
    const bad = alone({ ...aDay, start_block_for: '1h' });
    bad.runner.runAllocation();
    await bad.time.pass(20_000);
    expect(bad.runner.clientUpdate().DeploymentStatus).toMatchObject({ Healthy: false });
    expect(bad.runner.clientUpdate().TaskStates['web']!.Events.map((event) => event.Type)).not.toContain(
      'Alloc Unhealthy',
    );
  });

  it('AG-129, AG-434, DP-301: another deployment clears the health and watches again', async () => {
    const { time, runner, alloc } = setup([aTask('web', aDay)], {
      type: 'service',
      alloc: deployed,
      group: { Update: UPDATE },
    });
    runner.runAllocation();
    await time.pass(10_000);
    const judged = runner.clientUpdate().DeploymentStatus;
    expect(judged).toMatchObject({ Healthy: true });
    await time.pass(20_000);
    expect(runner.clientUpdate().DeploymentStatus).toEqual(judged);
    runner.update({ ...alloc, DeploymentID: 'd2', AllocModifyIndex: 11 });
    // It has run long enough for the new deployment, too, so its health is decided at once.
    const anew = runner.clientUpdate().DeploymentStatus;
    expect(anew).toMatchObject({ Healthy: true });
    expect(Date.parse(anew?.Timestamp ?? '') - Date.parse(judged?.Timestamp ?? '')).toBe(20_000);
  });

  it('AG-127: none for one that the servers stop before; AG-435: none for batch', async () => {
    const { time, runner, alloc } = setup([aTask('web', aDay)], {
      type: 'service',
      alloc: deployed,
      group: { Update: UPDATE },
    });
    runner.runAllocation();
    await time.pass(5_000);
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    await time.pass(100_000);
    expect(runner.clientUpdate().DeploymentStatus).toBeNull();
    const batch = setup([aTask('web', aDay)], { type: 'batch' });
    batch.runner.runAllocation();
    await batch.time.pass(1_000_000);
    expect(batch.runner.clientUpdate().DeploymentStatus).toBeNull();
  });
});

const UPDATE = {
  Stagger: 30e9,
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10e9,
  HealthyDeadline: 60e9,
  ProgressDeadline: 600e9,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
};
