import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { MAX_PLACEMENTS_PER_PLAN } from './plan-draft.js';
import { schedule } from './schedule.js';
import { SchedulingFixture } from './scheduling.fixture.js';

/** What one attempt with such a limit places of a job that wants four, on a node that takes them all. */
function attempt(type: 'service' | 'batch' | 'system', placementLimit: number) {
  const world = new SchedulingFixture();
  const nodes = type === 'system' ? 4 : 1;
  for (let n = 0; n < nodes; n++) world.addNode();
  const task = fixtures.aTask();
  const small = { ...task, Resources: { ...task.Resources, CPU: 10, MemoryMB: 10 } };
  const group = fixtures.aGroup({ Count: type === 'system' ? 1 : 4, Tasks: [small] }, type);
  const job = world.register(fixtures.aJob({ ID: 'web', Type: type, TaskGroups: [group] }));
  const evaluation = fixtures.anEval({ JobID: job.ID, Type: type });
  const { tables, appliedIndex: index } = world.state;
  const input = { evaluation, tables, index, nowNs: world.nowMs * 1e6, newId: world.newId, placementLimit };
  const { plan, truncated } = schedule(type, input);
  return { placed: Object.values(plan.NodeAllocation).flat().length, truncated };
}

it('a plan holds as many new allocations as it may, not one less and not one more', () => {
  expect(MAX_PLACEMENTS_PER_PLAN).toBe(1_000);
  for (const type of ['service', 'batch', 'system'] as const) {
    expect(attempt(type, 3)).toEqual({ placed: 3, truncated: true });
    expect(attempt(type, 4)).toEqual({ placed: 4, truncated: false });
    expect(attempt(type, 5)).toEqual({ placed: 4, truncated: false });
  }
});
