// The plan applier alone: plans of 1,000 placements judged node by node and committed to the state machine, without a network.
import { randomUUID } from 'node:crypto';
import { PlanApplier, PlanQueue, RejectionTracker } from '@waybill/broker';
import { systemClock, systemTimers } from '@waybill/service';
import { fixtures, NodeLoads, StateMachine } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';

export const describe = 'the plan applier: plans of 1,000 placements over 500 nodes, judged and committed';

const NODES = 500;
const PLACEMENTS = 1_000;
const PLANS = 40;
const IN_QUEUE = 4;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  for (const [name, depth, goal] of /** @type {[string, number, object][]} */ ([
    ['placementsPerSecond', 1, { goal: { atLeast: 50_000 } }],
    ['placementsPerSecondDepth4', 4, {}],
  ]))
    await ctx.measure(name, { unit: '1/s', ...goal }, () => placementsPerSecond(depth));
  ctx.note(
    `${PLANS} plans of ${PLACEMENTS} placements over ${NODES} nodes, each node ending with ` +
      `${(PLANS * PLACEMENTS) / NODES} allocations; ${IN_QUEUE} plans wait at any time`,
  );
  ctx.note('CPU time of the process; a commit encodes the plan as JSON, decodes it and applies it, as a replica does');
}

async function placementsPerSecond(pipelineDepth) {
  const machine = new StateMachine();
  fixtures.apply(machine, 'Initialise', {});
  const nodes = Array.from({ length: NODES }, () => fixtures.aNode({ ID: randomUUID() }));
  for (const node of nodes) fixtures.apply(machine, 'NodeRegister', { Node: roomy(node), CreateNodePool: false });
  fixtures.apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'bench' });
  const plans = Array.from({ length: PLANS }, (_, i) => planOf(machine, `job-${i}`, nodes));

  const queue = new PlanQueue();
  const loads = new NodeLoads(machine.tables);
  let requests = 0;
  const writer = {
    write: async (type, payload) => {
      const draft = fixtures.aTxn(machine.appliedIndex + 1, type, JSON.parse(JSON.stringify(payload)), {
        requestId: `write-${(requests += 1)}`,
        fence: { role: 'broker', epoch: 1 },
      });
      const applied = machine.apply(draft);
      loads.applied(applied);
      const { index, verdict } = applied;
      if (verdict.kind !== 'accepted') throw new Error(`${verdict.kind}: ${verdict.error}`);
      return index;
    },
  };
  const applier = new PlanApplier({
    queue,
    tables: machine.tables,
    loads,
    waitFor: () => Promise.resolve(),
    writer: /** @type {any} */ (writer),
    rejections: new RejectionTracker(systemClock),
    pipelineDepth,
    clock: systemClock,
    timers: systemTimers,
    newId: randomUUID,
    logger: silentLogger,
    tracer: () => tracerFor('bench'),
  });
  queue.setEnabled(true);
  const ended = applier.applyPlans();
  const iterator = plans.values();
  const before = process.cpuUsage();
  const submitter = async () => {
    for (const plan of iterator) {
      const { RejectedNodes } = await queue.submit(plan);
      if (RejectedNodes.length > 0) throw new Error('a plan was rejected');
    }
  };
  await Promise.all(Array.from({ length: IN_QUEUE }, submitter));
  const { user, system } = process.cpuUsage(before);
  queue.setEnabled(false);
  await ended;
  if (machine.tables.allocs.size !== PLANS * PLACEMENTS) throw new Error('not all was placed');
  return (PLANS * PLACEMENTS * 1e6) / (user + system);
}

/** A node that takes all that the benchmark places on it. */
function roomy(node) {
  const { NodeResources } = node;
  return {
    ...node,
    NodeMaxAllocs: 0,
    NodeResources: {
      ...NodeResources,
      Cpu: { ...NodeResources.Cpu, CpuShares: 1_000_000 },
      Memory: { ...NodeResources.Memory, MemoryMB: 1_000_000 },
      Disk: { ...NodeResources.Disk, DiskMB: 1_000_000 },
    },
  };
}

function planOf(machine, jobId, nodes) {
  const evaluation = fixtures.anEval({ ID: randomUUID(), JobID: jobId });
  const job = fixtures.aJob({ ID: jobId });
  fixtures.apply(machine, 'JobRegister', fixtures.aRegistration(job, { Eval: evaluation }));
  const stored = machine.tables.jobs.get(`default/${jobId}`);
  const NodeAllocation = {};
  for (let i = 0; i < PLACEMENTS; i += 1) {
    const { ID: NodeID } = nodes[i % nodes.length];
    const alloc = fixtures.anAlloc({ ID: randomUUID(), Job: job, JobID: jobId, NodeID, EvalID: evaluation.ID });
    (NodeAllocation[NodeID] ??= []).push({ ...alloc, Job: null, CreateTime: 0 });
  }
  return {
    EvalID: evaluation.ID,
    EvalToken: 'token',
    Priority: 50,
    AllAtOnce: false,
    Job: stored,
    NodeUpdate: {},
    NodeAllocation,
    NodePreemptions: {},
    Deployment: null,
    DeploymentUpdates: [],
    FollowupEvals: [],
    Annotations: null,
    SnapshotIndex: 0,
  };
}
