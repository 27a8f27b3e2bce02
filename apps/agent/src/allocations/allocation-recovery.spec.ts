import { FakeTime, pause } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TaskConfig, TaskHandle } from '../drivers/driver.js';
import { MockDriver } from '../drivers/mock-driver.js';
import { aTask, FOREVER, lifecycle, setup } from '../fixtures/running-allocation.js';

/** The time in milliseconds until a record is on the disk. It is longer than the task runs. */
const DISK_MS = 10;

/** Machine is the machine's knowledge of its processes, independent of the running agent. */
class Machine {
  started = 0;
  readonly left = new Map<string, TaskHandle>();

  driver(time: FakeTime): MachineDriver {
    return new MachineDriver(this, time);
  }
}

/** MachineDriver is the driver of one agent on a machine. It finds only processes that were started and not removed. */
class MachineDriver extends MockDriver {
  /** Whether its agent is alive; false if the agent was killed. */
  isAlive = true;

  constructor(
    private readonly machine: Machine,
    time: FakeTime,
  ) {
    super({
      clock: time,
      timers: time,
      random: () => 0.5,
      openOutput: () => ({ write: async () => {}, close: async () => {} }),
    });
  }

  override async start(config: TaskConfig, handle: TaskHandle): Promise<void> {
    if (!this.isAlive) return new Promise(() => {});
    this.machine.started++;
    this.machine.left.set(handle.taskId, handle);
    await super.start(config, handle);
  }

  override async recover(handle: TaskHandle): Promise<boolean> {
    return this.machine.left.has(handle.taskId) && super.recover(handle);
  }

  override async destroy(handle: TaskHandle, force: boolean): Promise<void> {
    if (!this.isAlive) return new Promise(() => {});
    await super.destroy(handle, force);
    this.machine.left.delete(handle.taskId);
  }
}

describe('over a crash of the agent', () => {
  it('AG-77: the time of an allocation goes on, also that of one that was being ended', async () => {
    const tasks = [aTask('web', { ...FOREVER, kill_after: '20s' }), aTask('bye', {}, lifecycle('poststop'))];
    const { time, runner, records, alloc, make } = setup(tasks, {
      group: { MaxRunDuration: 60e9 },
      alloc: { CreateTime: new FakeTime().nowMs() * 1e6 },
    });
    runner.runAllocation();
    await time.pass(30_000);
    const early = structuredClone(records.saved.get(alloc.ID)!);
    await time.pass(40_000); // the kill is in progress
    const late = structuredClone(records.saved.get(alloc.ID)!);
    expect([early.expired, late.expired, late.tasks['web']!.state.State]).toEqual([false, true, 'running']);
    for (const record of [early, late]) {
      const next = make(record);
      next.runAllocation();
      await time.pass(21_000);
      expect(next.clientUpdate()).toMatchObject({
        ClientStatus: 'complete',
        ClientDescription: 'allocation exceeded max_run_duration',
      });
      expect(next.clientUpdate().TaskStates['bye']!.StartedAt).toBeNull();
    }
  });

  it('AG-98, AG-162: one that was started again as a whole goes on where it was', async () => {
    const tasks = [aTask('prepare', { run_for: '10s' }, lifecycle('prestart')), aTask('web', FOREVER)];
    const { time, runner, records, alloc, make } = setup(tasks, { type: 'service' });
    const now = (of = runner) =>
      Object.values(of.clientUpdate().TaskStates).map(({ State, Restarts }) => `${State}/${Restarts}`);
    runner.runAllocation();
    await time.pass(20_000);
    const restarted = runner.restart('', true);
    await time.pass(1_000);
    await restarted;
    expect(now()).toEqual(['running/1', 'pending/1']); // its prestart task runs again
    const next = make(structuredClone(records.saved.get(alloc.ID)!));
    next.runAllocation();
    await time.pass(1_000);
    expect(now(next)).toEqual(['running/1', 'pending/1']);
    await time.pass(20_000);
    expect(now(next)).toEqual(['dead/1', 'running/1']);
    const last = make(structuredClone(records.saved.get(alloc.ID)!));
    last.runAllocation();
    await time.pass(20_000);
    expect(now(last)).toEqual(['dead/1', 'running/1']);
    expect(last.clientUpdate().TaskStates['web']!.Events.filter(({ Type }) => Type === 'Started')).toHaveLength(2);
  });

  it('AG-223: an agent that is killed while it removes an allocation knows of it afterwards', async () => {
    let removed = (): void => {};
    const { time, runner, records, alloc } = setup([aTask('web', FOREVER)], {
      directories: { remove: () => new Promise((resolve) => (removed = resolve)) },
    });
    runner.runAllocation();
    await time.pass(1_000);
    const destroyed = runner.destroy();
    await time.pass(1_000);
    expect(records.saved.has(alloc.ID)).toBe(true);
    removed();
    await destroyed;
    expect(records.saved.has(alloc.ID)).toBe(false);
  });

  it.each(Array.from({ length: 60 }, (_, ms) => ms))(
    'AG-193, AG-195: an agent that is killed %i ms after a short batch task began does not run it twice',
    async (killedAfterMs) => {
      const { time, records, alloc, make } = setup([aTask('short', { run_for: '3ms' })]);
      const machine = new Machine();
      const first = machine.driver(time);
      const write = records.save.bind(records);
      records.save = async (record) => {
        const text = structuredClone(record);
        await pause(time, DISK_MS);
        if (first.isAlive) await write(text);
        else await new Promise(() => {}); // the agent that writes is gone
      };
      const killed = make(undefined, first);
      killed.runAllocation();
      await time.pass(killedAfterMs);
      first.isAlive = false;
      const record = structuredClone(records.saved.get(alloc.ID));
      records.save = write;
      const next = make(record, machine.driver(time));
      next.runAllocation();
      await time.pass(1_000);
      expect([machine.started, next.clientUpdate().ClientStatus]).toEqual([1, 'complete']);
      const types = next.clientUpdate().TaskStates['short']!.Events.map(({ Type }) => Type);
      expect(types).toEqual(['Received', 'Task Setup', 'Started', 'Terminated']);
    },
  );
});
