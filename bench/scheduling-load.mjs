// Clusters and jobs for the benchmarks of scheduling (SC-342), and a pass over them.
import { occupyingLoads, schedule, schedulerTypeFor } from '@waybill/scheduler';
import { fixtures, StateMachine } from '@waybill/state';

const NOW_NS = fixtures.timeNs + 60e9;
let evals = 0;
let ids = 0;
/** @param {string} head @param {number} n */
const uuid = (head, n) => `${head}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

/** Nodes as in SC-342. @param {number} nodes @param {number} racks */
export function nodesOf(nodes, racks) {
  return Array.from({ length: nodes }, (_, i) => {
    const made = fixtures.aNode({
      ID: uuid('0000a0de', i),
      Datacenter: `dc-${(i % 2) + 1}`,
      Meta: { rack: `r${i % racks}` },
      ComputedClass: `v1:${i % racks}-${i % 2}`,
    });
    made.NodeResources.Cpu = { CpuShares: 14_000, TotalCpuCores: 4, ReservableCpuCores: null };
    made.NodeResources.Memory = { MemoryMB: 32_000 };
    made.ReservedResources.Cpu = { CpuShares: 100, ReservedCpuCores: null };
    return made;
  });
}

/** A state with these nodes. @param {number} nodes @param {number} racks */
export function clusterOf(nodes, racks) {
  const state = new StateMachine();
  fixtures.apply(state, 'Initialise', {});
  for (const Node of nodesOf(nodes, racks)) fixtures.apply(state, 'NodeRegister', { Node, CreateNodePool: true });
  // Kept from the changes, as a scheduler process does.
  const loads = occupyingLoads(state.tables);
  return {
    state,
    loads,
    /** @param {import('@waybill/model').Job} job @returns {import('@waybill/model').Job} */
    register(job) {
      const { verdict } = fixtures.apply(state, 'JobRegister', fixtures.aRegistration(job));
      const stored = state.tables.jobs.get(`default/${job.ID}`);
      if (verdict.kind !== 'accepted' || !stored) throw new Error('job was not accepted');
      return stored;
    },
    /** @param {import('@waybill/scheduler').Attempt} attempt */
    commit({ plan }) {
      const payload = {
        ...fixtures.aPlanResult(),
        Job: (plan.Job && state.tables.jobs.get(`${plan.Job.Namespace}/${plan.Job.ID}`)) ?? null,
        AllocsUpdated: Object.values(plan.NodeAllocation).flat(),
        AllocsStopped: Object.values(plan.NodeUpdate).flat(),
        AllocsPreempted: Object.values(plan.NodePreemptions).flat(),
        Deployment: plan.Deployment,
        EvalID: plan.EvalID,
        UpdatedAt: NOW_NS,
      };
      const applied = fixtures.apply(state, 'ApplyPlanResults', payload);
      loads.applied(applied);
      const { verdict } = applied;
      if (verdict.kind === 'refused') throw new Error(verdict.error);
    },
    /** The agents report the end of what the attempt evicted. @param {import('@waybill/scheduler').Attempt} attempt */
    endEvicted({ plan }) {
      const Allocs = Object.entries(plan.NodePreemptions).flatMap(([NodeID, victims]) =>
        victims.map(({ ID }) => fixtures.aClientUpdate({ ID, NodeID }, { ClientStatus: 'complete' })),
      );
      loads.applied(fixtures.apply(state, 'AllocClientUpdate', { Allocs, Evals: [] }));
    },
  };
}

/**
 * One group of small tasks without network.
 *
 * @param {Partial<import('@waybill/model').Job> & { id: string, count: number, cpu?: number, memory?: number }} given
 */
export function serviceJob({ id, count, cpu = 100, memory = 64, Type = 'service', ...over }) {
  const task = fixtures.aTask();
  const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: cpu, MemoryMB: memory } }];
  const disk = { Sticky: false, SizeMB: 10, Migrate: false };
  const group = fixtures.aGroup({ Count: count, Tasks, EphemeralDisk: disk }, Type);
  return fixtures.aJob({ ID: id, Type, TaskGroups: [group], ...over });
}

/**
 * The job of SC-342: two fit a node, half of the racks will do.
 *
 * @param {{ racks: number, count: number, spread: boolean, id: string }} given
 */
export function racksJob({ racks, count, spread, id }) {
  const half = Array.from({ length: racks / 2 }, (_, i) => `r${i}`).join(',');
  return serviceJob({
    id,
    count,
    cpu: 6_000,
    memory: 6_000,
    Constraints: [{ LTarget: '${meta.rack}', RTarget: half, Operand: 'set_contains_any' }],
    ...(spread && { Spreads: [{ Attribute: '${meta.rack}', Weight: 50, SpreadTarget: null }] }),
  });
}

/**
 * One pass over the cluster as it is.
 *
 * @param {{ state: StateMachine, loads: import('@waybill/state').NodeLoads }} cluster
 * @param {import('@waybill/model').Job} job
 */
export function attemptFor({ state, loads }, job) {
  const evaluation = fixtures.anEval({ ID: uuid('e0a10000', ++evals), JobID: job.ID, Type: job.Type });
  fixtures.apply(state, 'EvalUpdate', { Evals: [evaluation] });
  return schedule(schedulerTypeFor(evaluation, state.tables), {
    evaluation,
    tables: state.tables,
    loads,
    index: state.appliedIndex,
    nowNs: NOW_NS,
    newId: () => uuid('a110c000', ++ids),
  });
}
