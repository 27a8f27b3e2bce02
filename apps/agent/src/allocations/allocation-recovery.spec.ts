import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aTask, FOREVER, lifecycle, setup } from '../fixtures/running-allocation.js';

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
    await time.pass(40_000); // the kill is under way
    const late = structuredClone(records.saved.get(alloc.ID)!);
    expect([early.expired, late.expired, late.tasks['web']!.state.State]).toEqual([false, true, 'running']);
    for (const record of [early, late]) {
      const next = make(record);
      next.runAllocation();
      await time.pass(21_000);
      expect(next.report()).toMatchObject({
        ClientStatus: 'complete',
        ClientDescription: 'allocation exceeded max_run_duration',
      });
      expect(next.report().TaskStates['bye']!.StartedAt).toBeNull();
    }
  });

  it('AG-98, AG-162: one that was started again as a whole goes on where it was', async () => {
    const tasks = [aTask('prepare', { run_for: '10s' }, lifecycle('prestart')), aTask('web', FOREVER)];
    const { time, runner, records, alloc, make } = setup(tasks, { type: 'service' });
    const now = (of = runner) =>
      Object.values(of.report().TaskStates).map(({ State, Restarts }) => `${State}/${Restarts}`);
    runner.runAllocation();
    await time.pass(20_000);
    const restarted = runner.restart('', true);
    await time.pass(1_000);
    await restarted;
    expect(now()).toEqual(['running/1', 'pending/1']); // its prestart task runs once more
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
    expect(last.report().TaskStates['web']!.Events.filter(({ Type }) => Type === 'Started')).toHaveLength(2);
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
});
