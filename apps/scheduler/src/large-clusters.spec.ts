import type { Job, Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { placedBy, SchedulingFixture } from './scheduling.fixture.js';

/** SC-342: 14,000 MHz of which 100 are reserved, 32,000 MB, two datacenters, racks in turn. Two of the job fit a node. */
function clusterOf(nodes: number, racks: number): SchedulingFixture {
  const world = new SchedulingFixture();
  const base = fixtures.aNode();
  for (let i = 0; i < nodes; i++) {
    const NodeResources: Node['NodeResources'] = {
      ...base.NodeResources,
      Cpu: { CpuShares: 14_000, TotalCpuCores: 4, ReservableCpuCores: null },
      Memory: { MemoryMB: 32_000 },
    };
    const ReservedResources = { ...base.ReservedResources, Cpu: { CpuShares: 100, ReservedCpuCores: null } };
    const rack = `r${i % racks}`;
    const Datacenter = `dc-${(i % 2) + 1}`;
    world.addNode({
      NodeResources,
      ReservedResources,
      Datacenter,
      Meta: { rack },
      ComputedClass: `v1:${rack}-${i % 2}`,
    });
  }
  return world;
}

function racksJob(racks: number, Count: number, spread: boolean, ID = 'web'): Job {
  const task = fixtures.aTask();
  const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: 6_000, MemoryMB: 6_000 } }];
  const half = Array.from({ length: Math.floor(racks / 2) }, (_, i) => `r${i}`).join(',');
  return fixtures.aJob({
    ID,
    TaskGroups: [fixtures.aGroup({ Count, Tasks })],
    Constraints: [{ LTarget: '${meta.rack}', RTarget: half, Operand: 'set_contains_any' }],
    Spreads: spread ? [{ Attribute: '${meta.rack}', Weight: 50, SpreadTarget: null }] : null,
  });
}

describe('the shapes of the benchmark', () => {
  const cases = [25, 50, 75].flatMap((racks) =>
    [50, 300, 600, 900, 1_200].flatMap((count) => [false, true].map((spread) => ({ racks, count, spread }))),
  );

  // The larger numbers of nodes of the matrix are the benchmark's (bench/scheduler.mjs): here it is what comes out.
  it.each([500])(
    'SC-341, SC-342: %d nodes: what fits is placed, the rest is one failed group',
    { timeout: 60_000 },
    (nodes) => {
      const worlds = new Map([25, 50, 75].map((racks) => [racks, clusterOf(nodes, racks)]));
      for (const [i, { racks, count, spread }] of cases.entries()) {
        const world = worlds.get(racks)!;
        const JobID = `job-${i}`;
        world.register(racksJob(racks, count, spread, JobID));
        const attempt = world.attempt({ JobID });
        const placed = placedBy(attempt);
        const room =
          2 *
          [...world.state.tables.nodes.all()].filter(
            ({ Meta }) => Number(Meta['rack']?.slice(1)) < Math.floor(racks / 2),
          ).length;
        expect(room).toBeGreaterThanOrEqual(480);
        expect(room).toBeLessThanOrEqual(520);
        expect(placed).toHaveLength(Math.min(count, room));
        expect(attempt.blocked).toHaveLength(count > room ? 1 : 0);
        const failures = attempt.failedGroups['web']?.CoalescedFailures ?? -1;
        expect(failures + 1 + placed.length).toBe(count);
      }
    },
  );

  it(
    'SC-343: 600 allocations spread over 100 racks of 5,000 nodes are one plan that is not empty',
    { timeout: 60_000 },
    () => {
      const world = clusterOf(5_000, 100);
      world.register(racksJob(100, 600, true));
      const plans = [];
      for (let attempt = world.run(); !attempt.isNoop; attempt = world.run()) plans.push(attempt);
      expect(plans).toHaveLength(1);
      expect(placedBy(plans[0]!)).toHaveLength(600);
      expect(plans[0]!.truncated).toBe(false);
    },
  );
});
