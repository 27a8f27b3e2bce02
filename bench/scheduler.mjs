// How fast one scheduling pass is: the pure function from state and evaluation to plan, without log, broker or applier.
import { attemptFor, clusterOf, racksJob, serviceJob } from './scheduling-load.mjs';
import { median } from './harness.mjs';

export const describe = 'one scheduling pass: placements per second on 5,000 nodes, no-op and system passes (SC 23)';

const NODES = 5_000;
const PLACED = 1_000;
/** A pass takes some 20 ms: this many until the compiler is done with it. */
const WARM_UPS = 25;
/** SC-341, thinned out: the corners of the matrix of nodes × racks × allocations × spread. */
const MATRIX = [
  { nodes: 500, racks: 25, count: 300 },
  { nodes: 1_000, racks: 50, count: 1_200 },
  { nodes: 5_000, racks: 75, count: 600 },
  { nodes: 10_000, racks: 25, count: 50 },
  { nodes: 10_000, racks: 75, count: 1_200 },
];

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  ctx.log(`${NODES} nodes`);
  const state = clusterOf(NODES, 50);
  const constraint = { LTarget: '${meta.rack}', RTarget: 'r49', Operand: '!=' };
  const busy = {
    Affinities: [{ LTarget: '${meta.rack}', RTarget: 'r1', Operand: '=', Weight: 50 }],
    Spreads: [{ Attribute: '${meta.rack}', Weight: 50, SpreadTarget: null }],
  };
  await placements(ctx, state, 'batchPerSecond', 50_000, { Type: 'batch', Constraints: [constraint] });
  await placements(ctx, state, 'servicePerSecond', 20_000, { Constraints: [constraint] });
  await placements(ctx, state, 'spreadPerSecond', 5_000, { Constraints: [constraint], ...busy });

  await ctx.measure('noopMs', { unit: 'ms', goal: { below: 20 } }, noopPass(ctx, 10_000));
  await ctx.measure('systemEvalMs', { unit: 'ms', goal: { below: 500 } }, systemPass(ctx, 10_000));

  for (const { nodes, racks, count } of MATRIX)
    for (const spread of [false, true]) {
      const cluster = clusterOf(nodes, racks);
      const took = [];
      for (let i = 0; i < 3; i++) {
        const job = cluster.register(racksJob({ racks, count, spread, id: `m${i}` }));
        took.push(await ctx.time(() => void attemptFor(cluster, job)));
      }
      ctx.metric(`eval${nodes}x${racks}x${count}${spread ? 'Spread' : ''}Ms`, median(took), { unit: 'ms' });
    }
  ctx.note('one process; plans are computed, not committed; AllocationTime not measured');
}

/**
 * @param {import('./harness.mjs').Bench} ctx
 * @param {ReturnType<typeof clusterOf>} state
 * @param {string} name
 * @param {number} atLeast
 * @param {object} over of the job
 */
async function placements(ctx, state, name, atLeast, over) {
  let nth = 0;
  await ctx.measure(name, { unit: 'placements/s', warmups: WARM_UPS, goal: { atLeast } }, async () => {
    const job = state.register(serviceJob({ id: `${name}${nth++}`, count: PLACED, ...over }));
    let placed = 0;
    const ms = await ctx.time(() => {
      const { plan } = attemptFor(state, job);
      placed = Object.values(plan.NodeAllocation).flat().length;
    });
    if (placed !== PLACED) throw new Error(`placed ${placed} of ${PLACED}`);
    return (placed / ms) * 1000;
  });
}

/**
 * A job with that many allocations, none of which wants anything.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {number} allocs
 */
function noopPass(ctx, allocs) {
  const state = clusterOf(1_000, 25);
  const job = state.register(serviceJob({ id: 'steady', count: allocs, cpu: 10, memory: 10 }));
  for (let left = allocs; left > 0; left -= 1_000) state.commit(attemptFor(state, job));
  return async () => {
    let isNoop = false;
    const ms = await ctx.time(() => {
      isNoop = attemptFor(state, job).isNoop;
    });
    if (!isNoop) throw new Error('not a no-op');
    return ms;
  };
}

/**
 * A new system job on every node.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {number} nodes
 */
function systemPass(ctx, nodes) {
  const state = clusterOf(nodes, 25);
  let nth = 0;
  return async () => {
    const job = state.register(serviceJob({ id: `system${nth++}`, count: 1, Type: 'system' }));
    return ctx.time(() => {
      for (let pass = 0; pass < nodes / 1_000; pass++) state.commit(attemptFor(state, job));
    });
  };
}
