import { NS_PER_SECOND, settle, type Task } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { StartCancelledError, type TaskHandle } from '../drivers/driver.js';
import { HookError } from '../tasks/task-hook.js';
import { aTask, FOREVER, lifecycle, NO_RESTARTS, setup } from '../fixtures/running-allocation.js';
import { Gate } from '../waiting/gate.js';

describe('one task', () => {
  it('AG-100: received, set up, started, terminated', async () => {
    const { time, runner, events, reports } = setup([aTask('web', { run_for: '10s' })]);
    runner.runAllocation();
    await settle();
    expect(runner.clientUpdate()).toMatchObject({ ClientStatus: 'running', ClientDescription: 'Tasks are running' });
    expect(reports.at(-1)?.ClientStatus).toBe('running');
    await time.pass(10_000);
    expect(events('web')).toEqual(['Received', 'Task Setup', 'Started', 'Terminated']);
    expect(runner.clientUpdate()).toMatchObject({
      ClientStatus: 'complete',
      ClientDescription: 'All tasks have completed',
    });
  });

  it('AG-5, AG-6, AG-112, AG-113: restarted by policy, counted, and failed in the end', async () => {
    const policy = { Attempts: 2, Interval: 1800e9, Delay: 15e9, Mode: 'fail', RenderTemplates: false };
    const { time, runner, events } = setup([aTask('web', { run_for: '1s', exit_code: 1 }, { RestartPolicy: policy })]);
    runner.runAllocation();
    await time.pass(1_000);
    const waiting = runner.clientUpdate().TaskStates['web']!;
    expect(waiting).toMatchObject({ State: 'pending', Restarts: 1, FinishedAt: null });
    expect(waiting.Events.at(-1)?.DisplayMessage).toBe('Task restarting in 15s');
    const firstStart = waiting.StartedAt;
    await time.pass(60_000);
    const ended = runner.clientUpdate().TaskStates['web']!;
    expect(ended).toMatchObject({ State: 'dead', Failed: true, Restarts: 2 });
    expect(ended.StartedAt).not.toBe(firstStart);
    expect(ended.FinishedAt).not.toBeNull();
    expect(ended.Events).toHaveLength(10);
    expect(events('web')!.filter((type) => type === 'Started')).toHaveLength(3);
    expect(ended.Events.at(-1)).toMatchObject({
      Type: 'Not Restarting',
      DisplayMessage: 'Exceeded allowed attempts 2 in interval 30m0s and mode is "fail"',
    });
    expect(runner.clientUpdate()).toMatchObject({ ClientStatus: 'failed', ClientDescription: 'Failed tasks' });
  });

  it('AG-104, AG-106: a configuration or start that cannot work fails without another start', async () => {
    for (const [config, type] of [
      [{ nonsense: 1 }, 'Failed Validation'],
      [{ start_error: 'no room' }, 'Driver Failure'],
    ] as const) {
      const policy = { ...NO_RESTARTS, Attempts: 3 };
      const { time, runner, events, states } = setup([aTask('web', config, { RestartPolicy: policy })]);
      runner.runAllocation();
      await time.pass(100_000);
      expect(events('web')?.slice(-2)).toEqual([type, 'Not Restarting']);
      expect(states()).toEqual({ web: 'dead failed' });
    }
  });

  it('AG-74, AG-151, AG-157: killed by the servers it ends complete, whatever its exit code', async () => {
    const { time, runner, alloc, events } = setup([aTask('web', { ...FOREVER, exit_code: 137 })], { type: 'service' });
    runner.runAllocation();
    await settle();
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    await time.pass(0);
    expect(events('web')?.slice(3)).toEqual(['Killing', 'Terminated', 'Killed']);
    expect(runner.clientUpdate()).toMatchObject({ ClientStatus: 'complete' });
    expect(runner.clientUpdate().TaskStates['web']).toMatchObject({ State: 'dead', Failed: false });
    expect(runner.isOver).toBe(true);
  });

  it('AG-152: the events of a kill with a delay, in order; the task goes down after the delay', async () => {
    const { time, runner, events } = setup([aTask('web', FOREVER, { ShutdownDelay: 10e9 })]);
    runner.runAllocation();
    await settle();
    void runner.kill();
    await time.pass(9_999);
    expect(runner.clientUpdate().ClientStatus).toBe('running');
    await time.pass(1);
    expect(events('web')?.slice(3)).toEqual(['Killing', 'Waiting for shutdown delay', 'Terminated', 'Killed']);
  });

  it('AG-153: one that exits by itself during its delay is killed all the same, not failed, not restarted', async () => {
    const policy = { ...NO_RESTARTS, Attempts: 3 };
    const web = aTask('web', { run_for: '5s', exit_code: 1 }, { ShutdownDelay: 60e9, RestartPolicy: policy });
    const { time, runner, events } = setup([web], { type: 'service' });
    runner.runAllocation();
    await settle();
    void runner.kill();
    await time.pass(5_000);
    expect(events('web')?.slice(-2)).toEqual(['Terminated', 'Killed']);
    expect(runner.clientUpdate().ClientStatus).toBe('complete');
    expect(runner.isOver).toBe(true);
  });

  it('AG-109, AG-410: a kill during a restart delay ends it without another start', async () => {
    const policy = { Attempts: 5, Interval: 3600e9, Delay: 60e9, Mode: 'fail', RenderTemplates: false };
    const { time, runner, events, states } = setup([
      aTask('web', { run_for: '1s', exit_code: 1 }, { RestartPolicy: policy }),
    ]);
    runner.runAllocation();
    await time.pass(1_000);
    void runner.kill();
    await time.pass(3_600_000);
    expect(events('web')!.filter((type) => type === 'Started')).toHaveLength(1);
    expect(states()).toEqual({ web: 'dead' });
  });

  it('AG-410: a kill during a start that blocks takes the task down as soon as it has started', async () => {
    const { time, runner, states } = setup([aTask('web', { start_block_for: '10s', ...FOREVER })]);
    runner.runAllocation();
    await settle();
    void runner.kill();
    await time.pass(10_000);
    expect(states()).toEqual({ web: 'dead' });
    expect(runner.isOver).toBe(true);
  });

  it('AG-82, AG-101: one that the servers want stopped never starts', async () => {
    const { time, runner, events } = setup([aTask('web', FOREVER)], { alloc: { DesiredStatus: 'stop' } });
    runner.runAllocation();
    await time.pass(1_000);
    expect(events('web')).not.toContain('Started');
    expect(runner.clientUpdate().ClientStatus).toBe('complete');
  });

  it('AG-50, AG-115: an older update is dropped, a newer one changes the policy without a restart', async () => {
    const { time, runner, alloc, events } = setup([aTask('web', { run_for: '10s', exit_code: 1 })]);
    runner.runAllocation();
    await settle();
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 10 });
    await time.pass(0);
    expect(events('web')).not.toContain('Killing');
    const job = structuredClone(alloc.Job!);
    job.TaskGroups[0]!.Tasks[0]!.RestartPolicy = {
      Attempts: 1,
      Interval: 3600e9,
      Delay: 5e9,
      Mode: 'fail',
      RenderTemplates: false,
    };
    runner.update({ ...alloc, Job: job, AllocModifyIndex: 12 });
    await time.pass(10_000);
    expect(events('web')).toEqual(['Received', 'Task Setup', 'Started', 'Terminated', 'Restarting']);
  });

  it('AG-76, DP-306: a failed allocation of a deployment says that it is not healthy, unless it was judged before', async () => {
    const health = { Healthy: true, Timestamp: '2026-01-01T00:00:00Z', Canary: false, ModifyIndex: 3 };
    for (const [DeploymentStatus, Healthy] of [
      [null, false],
      [health, true],
    ] as const) {
      const alloc = { DeploymentID: 'd', DeploymentStatus };
      const { time, runner } = setup([aTask('web', { exit_code: 1 })], { alloc });
      runner.runAllocation();
      await time.pass(1);
      expect(runner.clientUpdate()).toMatchObject({ ClientStatus: 'failed', DeploymentStatus: { Healthy } });
    }
  });

  it('AG-180, AG-181, AG-462, SC-319: a reconnect marks the tasks and touches nothing; one that is to stop is just stopped', async () => {
    const { time, runner, alloc, events } = setup([aTask('web', FOREVER)], { type: 'service' });
    runner.runAllocation();
    await settle();
    runner.update({ ...alloc, ClientStatus: 'unknown', AllocModifyIndex: 11 });
    expect(events('web')?.at(-1)).toBe('Reconnected');
    expect(runner.clientUpdate().ClientStatus).toBe('running');
    runner.update({ ...alloc, ClientStatus: 'unknown', DesiredStatus: 'stop', AllocModifyIndex: 12 });
    await time.pass(0);
    expect(events('web')?.filter((type) => type === 'Reconnected')).toHaveLength(1);
    expect(runner.isOver).toBe(true);
  });
});

describe('an allocation that may not outlive the contact with the servers', () => {
  const Disconnect = {
    LostAfter: 0,
    StopOnClientAfter: 5 * NS_PER_SECOND,
    Replace: true,
    Reconcile: 'best_score',
  } as const;

  it('AG-171: is one with stop_on_client_after, while it lives', async () => {
    const { time, runner, alloc } = setup([aTask('web', FOREVER)], { group: { Disconnect } });
    expect(setup([aTask('web', FOREVER)]).runner.disconnectable).toBeUndefined();
    runner.runAllocation();
    await time.pass(10);
    expect(runner.disconnectable).toEqual({ id: alloc.ID, afterMs: 5_000, isRestored: false });
    void runner.kill();
    expect(runner.disconnectable).toBeUndefined();
  });

  it('AG-174: stopped that way it says that it is complete', async () => {
    const { time, runner } = setup([aTask('web', { ...FOREVER, exit_code: 1 })], { group: { Disconnect } });
    runner.runAllocation();
    await time.pass(10);
    void runner.kill();
    await time.pass(10);
    expect(runner.clientUpdate().ClientStatus).toBe('complete');
  });
});

describe('several tasks', () => {
  it('AG-84: when one failed, the others get the reason and are killed', async () => {
    const { time, runner, events, states } = setup([
      aTask('bad', { run_for: '1s', exit_code: 1 }),
      aTask('good', FOREVER),
    ]);
    runner.runAllocation();
    await time.pass(2_000);
    expect(states()).toEqual({ bad: 'dead failed', good: 'dead' });
    expect(events('good')?.slice(3)).toEqual(['Sibling Task Failed', 'Killing', 'Terminated', 'Killed']);
    const killed = runner.clientUpdate().TaskStates['good']!.Events.find((e) => e.Type === 'Sibling Task Failed');
    expect(killed?.DisplayMessage).toBe('Task\'s sibling "bad" failed');
  });

  it('AG-85: when the leader ended well, the others get the reason and are killed; a leader that fails is a failed sibling', async () => {
    const ended = setup([aTask('lead', { run_for: '1s' }, { Leader: true }), aTask('other', FOREVER)]);
    ended.runner.runAllocation();
    await ended.time.pass(2_000);
    expect(ended.events('other')).toContain('Leader Task Dead');
    expect(ended.runner.clientUpdate().ClientStatus).toBe('complete');
    const failed = setup([aTask('lead', { run_for: '1s', exit_code: 1 }, { Leader: true }), aTask('other', FOREVER)]);
    failed.runner.runAllocation();
    await failed.time.pass(2_000);
    expect(failed.events('other')).toContain('Sibling Task Failed');
  });

  it('AG-418: a leader killed with the whole allocation is no cause of its own', async () => {
    const { time, runner, events } = setup([aTask('lead', FOREVER, { Leader: true }), aTask('other', FOREVER)]);
    runner.runAllocation();
    await settle();
    void runner.kill();
    await time.pass(0);
    expect(events('other')).not.toContain('Leader Task Dead');
  });

  it('AG-86: when only sidecars are left they are killed', async () => {
    const { time, runner, events, states } = setup([
      aTask('side', FOREVER, lifecycle('prestart', true)),
      aTask('main', { run_for: '5s' }),
    ]);
    runner.runAllocation();
    await time.pass(6_000);
    expect(states()).toEqual({ side: 'dead', main: 'dead' });
    expect(events('side')).toContain('Main Tasks Dead');
    expect(runner.clientUpdate().ClientStatus).toBe('complete');
  });

  it('AG-72, AG-158: a prestart task that fails keeps the main task from ever starting', async () => {
    const { time, runner, events } = setup([
      aTask('init', { run_for: '1s', exit_code: 1 }, lifecycle('prestart')),
      aTask('main', FOREVER),
    ]);
    runner.runAllocation();
    await time.pass(2_000);
    expect(runner.clientUpdate().ClientStatus).toBe('failed');
    expect(events('main')).toEqual(['Received', 'Sibling Task Failed', 'Killing']);
  });

  it('AG-83: all are received at once, whatever holds them back', async () => {
    const { runner, events } = setup([
      aTask('init', FOREVER, lifecycle('prestart')),
      aTask('main', FOREVER),
      aTask('last', FOREVER, lifecycle('poststop')),
    ]);
    runner.runAllocation();
    await settle();
    expect([events('main'), events('last')]).toEqual([['Received'], ['Received']]);
    expect(events('init')?.[0]).toBe('Received');
  });

  it('AG-88, AG-89: a poststop task that fails makes it fail, and is nobody’s sibling; then it is over', async () => {
    const { time, runner, events, states } = setup([
      aTask('main', { run_for: '5s' }),
      aTask('last', { run_for: '1s', exit_code: 1 }, lifecycle('poststop')),
      aTask('other', { run_for: '3s' }, lifecycle('poststop')),
    ]);
    runner.runAllocation();
    await time.pass(60_000);
    expect(states()).toEqual({ main: 'dead', last: 'dead failed', other: 'dead' });
    expect(events('other')).toEqual(['Received', 'Task Setup', 'Started', 'Terminated']);
    expect([runner.clientUpdate().ClientStatus, runner.isOver]).toEqual(['failed', true]);
  });

  it('AG-103: a hook that fails is an event with its name, and for good; one that says so is tried again by policy', async () => {
    const policy = { Attempts: 1, Interval: 3_600e9, Delay: 0, Mode: 'fail', RenderTemplates: false };
    const failing = (error: Error) => [{ name: 'volumes', prestart: () => Promise.reject(error) }];
    const start = async (error: Error) => {
      const given = setup([aTask('web', FOREVER, { RestartPolicy: policy })], { hooks: () => failing(error) });
      given.runner.runAllocation();
      await given.time.pass(60_000);
      return given.runner.clientUpdate().TaskStates['web']!;
    };
    const final = await start(new Error('no such volume'));
    expect(final).toMatchObject({ State: 'dead', Failed: true, Restarts: 0 });
    expect(final.Events.slice(-2)).toMatchObject([
      { Type: 'Task hook failed', DisplayMessage: 'volumes: no such volume' },
      { Type: 'Not Restarting', DisplayMessage: 'Error was unrecoverable' },
    ]);
    const event = { type: 'Failed Artifact Download', details: {} };
    expect(await start(new HookError('busy', true, event))).toMatchObject({ State: 'dead', Restarts: 1 });
  });

  it('AG-105: without its driver there is no allocation', () => {
    expect(() => setup([aTask('web', FOREVER, { Driver: 'none' })])).toThrow(
      'failed to create task runner: task driver "none" is not known',
    );
  });

  it('AG-250: each start of a task has an id of its own', async () => {
    const policy = { Attempts: 2, Interval: 3_600e9, Delay: 0, Mode: 'fail', RenderTemplates: false };
    const { time, runner, records, alloc } = setup([
      aTask('web', { run_for: '10s', exit_code: 1 }, { RestartPolicy: policy }),
    ]);
    runner.runAllocation();
    const ids: (string | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      await time.pass(5_000);
      ids.push(records.saved.get(alloc.ID)?.tasks['web']?.handle?.taskId);
      await time.pass(5_000);
    }
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(new RegExp(`^${alloc.ID}/web/.+$`));
  });

  it('AG-92, AG-95: prestart, then main, then poststop', async () => {
    const { time, runner, states } = setup([
      aTask('init', { run_for: '10s' }, lifecycle('prestart')),
      aTask('main', { run_for: '10s' }),
      aTask('last', { run_for: '10s' }, lifecycle('poststop')),
    ]);
    runner.runAllocation();
    await settle();
    expect(states()).toEqual({ init: 'running', main: 'pending', last: 'pending' });
    await time.pass(10_000);
    expect(states()).toEqual({ init: 'dead', main: 'running', last: 'pending' });
    await time.pass(10_000);
    expect(states()).toEqual({ init: 'dead', main: 'dead', last: 'running' });
    await time.pass(10_000);
    expect(runner.clientUpdate().ClientStatus).toBe('complete');
  });

  it('AG-87, AG-95: a poststop task runs after a kill by the servers', async () => {
    const { time, runner, alloc, states } = setup([
      aTask('main', FOREVER),
      aTask('last', { run_for: '10s' }, lifecycle('poststop')),
    ]);
    runner.runAllocation();
    await settle();
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    await time.pass(1);
    expect(states()).toEqual({ main: 'dead', last: 'running' });
    await time.pass(10_000);
    expect(runner.isOver).toBe(true);
  });

  it('AG-150: the leader goes first, then the others, then the sidecars; before all the delay of the group', async () => {
    const slow = { ...FOREVER, kill_after: '10s' };
    const { time, runner, states } = setup(
      [aTask('lead', slow, { Leader: true }), aTask('main', slow), aTask('side', slow, lifecycle('prestart', true))],
      { group: { ShutdownDelay: 5e9 } },
    );
    runner.runAllocation();
    await settle();
    void runner.kill();
    const at = async (ms: number) => {
      await time.pass(ms);
      return Object.values(states());
    };
    expect(await at(14_999)).toEqual(['running', 'running', 'running']);
    expect(await at(1)).toEqual(['dead', 'running', 'running']);
    expect(await at(10_000)).toEqual(['dead', 'dead', 'running']);
    expect(await at(10_000)).toEqual(['dead', 'dead', 'dead']);
  });
});

describe('after a restart of the agent', () => {
  async function running(config: Record<string, unknown>, type = 'service', over: Partial<Task> = {}) {
    const base = setup([aTask('web', config, over)], { type });
    base.runner.runAllocation();
    await settle();
    return { ...base, record: () => base.records.saved.get(base.alloc.ID)! };
  }

  it('AG-191: handle and state are on disk before the servers are told', async () => {
    const { record, reports } = await running(FOREVER);
    expect(reports.at(-1)?.ClientStatus).toBe('running');
    expect(record().tasks['web']).toMatchObject({ state: { State: 'running' }, handle: { driver: 'mock_driver' } });
  });

  it('AG-193: a task that still runs goes on without a new start', async () => {
    const { time, record, make } = await running({ run_for: '60s' }, 'batch');
    time.freeze(30_000);
    const again = make(record());
    again.runAllocation();
    await time.pass(29_999);
    expect(again.clientUpdate().ClientStatus).toBe('running');
    await time.pass(1);
    expect(again.clientUpdate().TaskStates['web']!.Events.map((e) => e.Type)).toEqual([
      'Received',
      'Task Setup',
      'Started',
      'Terminated',
    ]);
  });

  it('AG-194: a task that is lost starts again only after the servers were asked', async () => {
    const { time, record, make, newDriver, serversAsked } = await running(FOREVER);
    const driver = newDriver();
    driver.recover = async () => false;
    const again = make(record(), driver);
    again.runAllocation();
    await time.pass(3_600_000);
    const events = () => again.clientUpdate().TaskStates['web']!.Events.map((e) => e.Type);
    expect(events().at(-1)).toBe('Failed Restoring Task');
    expect(again.clientUpdate().ClientStatus).toBe('pending');
    serversAsked.open();
    await settle();
    expect(events().at(-1)).toBe('Started');
  });

  it('AG-195, AG-442: a finished task does not run again', async () => {
    const { time, record, make } = await running({ run_for: '1s' }, 'batch');
    await time.pass(1_000);
    const again = make(record());
    again.runAllocation();
    await time.pass(60_000);
    expect(again.clientUpdate().TaskStates['web']!.Events.filter((e) => e.Type === 'Started')).toHaveLength(1);
    expect(again.clientUpdate().ClientStatus).toBe('complete');
    expect(again.isOver).toBe(true);
  });

  it('AG-116: the count of its restarts begins anew, the restarts that people see do not', async () => {
    const policy = { Attempts: 1, Interval: 3_600e9, Delay: 0, Mode: 'fail', RenderTemplates: false };
    const config = { run_for: '10s', exit_code: 1 };
    const { time, record, make } = await running(config, 'service', { RestartPolicy: policy });
    await time.pass(15_000);
    expect(record().tasks['web']?.state).toMatchObject({ State: 'running', Restarts: 1 });
    const again = make(record());
    again.runAllocation();
    await time.pass(10_000);
    expect(again.clientUpdate().TaskStates['web']).toMatchObject({ State: 'running', Restarts: 2 });
    await time.pass(10_000);
    expect(again.clientUpdate().TaskStates['web']).toMatchObject({ State: 'dead', Restarts: 2, Failed: true });
  });

  it('AG-199: what an ended one may not have given back yet is given back by the next agent', async () => {
    const removed: string[] = [];
    const registry = {
      register: async () => {},
      deregister: async (_: string, ids: readonly string[]) => void removed.push(...ids),
    };
    const { time, runner, records, alloc, make } = setup([aTask('web', { run_for: '1s' })], { registry });
    runner.runAllocation();
    await time.pass(2_000);
    expect(removed).toEqual([]);
    const again = make({ ...records.saved.get(alloc.ID)!, services: { registered: ['left behind'], checks: {} } });
    again.runAllocation();
    await time.pass(10_000);
    expect([again.isOver, removed]).toEqual([true, ['left behind']]);
  });

  it('AG-441: one that was in its restart delay starts again, without asking', async () => {
    const policy = { Attempts: 5, Interval: 3600e9, Delay: 60e9, Mode: 'fail', RenderTemplates: false };
    const { time, record, make } = await running({ run_for: '1s', exit_code: 1 }, 'service', { RestartPolicy: policy });
    await time.pass(1_000);
    expect(record().tasks['web']?.state.State).toBe('pending');
    const again = make(record());
    again.runAllocation();
    await settle();
    expect(again.clientUpdate().ClientStatus).toBe('running');
  });

  it('AG-15: suspended with its agent nothing is told; the next agent runs it again once the servers were asked', async () => {
    const { time, record, make, runner, reports, serversAsked } = await running(FOREVER);
    const told = reports.length;
    const suspended = runner.suspend();
    await time.pass(60_000);
    await suspended;
    expect(reports).toHaveLength(told);
    const again = make(record());
    again.runAllocation();
    await time.pass(60_000);
    expect(again.clientUpdate().ClientStatus).toBe('pending');
    serversAsked.open();
    await settle();
    expect(again.clientUpdate().ClientStatus).toBe('running');
    expect(again.clientUpdate().TaskStates['web']?.Restarts).toBe(0);
  });

  it('PG-140: a start that the end of its agent cancels decides nothing, and the next agent starts the task', async () => {
    const { runner, driver, newDriver, make, records, alloc, reports, events } = setup([aTask('web', FOREVER)]);
    const cancelled = new Gate();
    const start = async (): Promise<never> => {
      await cancelled.opened;
      throw new StartCancelledError();
    };
    Object.assign(driver, { start });
    runner.runAllocation();
    await settle();
    const [before, told] = [events('web'), reports.length];
    cancelled.open();
    await settle();
    expect([events('web'), reports.length]).toEqual([before, told]);
    const record = records.saved.get(alloc.ID)!;
    expect(record.tasks['web']).toMatchObject({ state: { State: 'pending', Failed: false }, suspended: false });
    expect(record.tasks['web']?.handle).toBeTruthy();
    const next = newDriver();
    const destroyed: string[] = [];
    const destroy = async ({ taskId }: TaskHandle): Promise<void> => void destroyed.push(taskId);
    Object.assign(next, { recover: async () => false, destroy });
    const again = make(record, next);
    again.runAllocation();
    await settle();
    expect(destroyed).toEqual([record.tasks['web']?.handle?.taskId]);
    expect(again.clientUpdate()).toMatchObject({ ClientStatus: 'running', TaskStates: { web: { Restarts: 0 } } });
  });

  it('PG-140: a start that the kill of its task cancels ends the task without an event of a failure', async () => {
    const { runner, driver, events, states } = setup([aTask('web', FOREVER)]);
    const start = (_config: unknown, _handle: unknown, _tell: unknown, unwanted: AbortSignal): Promise<never> =>
      new Promise((_, reject) => unwanted.addEventListener('abort', () => reject(new StartCancelledError())));
    Object.assign(driver, { start });
    runner.runAllocation();
    await settle();
    void runner.kill();
    await settle();
    expect(states()).toEqual({ web: 'dead' });
    expect(events('web')).toEqual(['Received', 'Task Setup', 'Killing']);
  });
});
