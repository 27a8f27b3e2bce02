// Making room: a cluster that is full of unimportant work, and important work that wants in.
import { attemptFor, clusterOf, serviceJob } from './scheduling-load.mjs';

export const describe =
  'preemption: 5,000 high-priority placements among 20,000 low-priority allocations on 5,000 full nodes';

const NODES = 5_000;
const LOW = 20_000;
const HIGH = 5_000;
const PER_PASS = 1_000;
/** A node has 13,900 MHz: four of the unimportant leave no room for one of the important, three do. */
const LOW_MHZ = 3_400;
const HIGH_MHZ = 3_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  let cpuMicros = 0;
  let counted = 0;
  await ctx.measure(
    'placementsPerSecond',
    { unit: 'placements/s', runs: 3, goal: { atLeast: 1_000 } },
    async (round) => {
      const cluster = fullCluster();
      const job = cluster.register(serviceJob({ id: 'high', count: HIGH, cpu: HIGH_MHZ, Priority: 90 }));
      let ms = 0;
      for (let placed = 0; placed < HIGH; placed += PER_PASS) {
        const before = process.cpuUsage();
        const began = performance.now();
        const attempt = attemptFor(cluster, job);
        ms += performance.now() - began;
        const { user, system } = process.cpuUsage(before);
        if (round >= 0) [cpuMicros, counted] = [cpuMicros + user + system, counted + PER_PASS];
        requireEvictions(attempt);
        cluster.commit(attempt);
        cluster.endEvicted(attempt);
      }
      return (HIGH / ms) * 1_000;
    },
  );
  ctx.metric('cpuMicros', cpuMicros / counted, { unit: 'us of CPU per placement' });
  ctx.note(
    `${NODES} nodes with ${LOW / NODES} allocations of priority 20 each; every placement evicts one; ${PER_PASS} in a plan`,
  );
  ctx.note(
    'between the passes, outside the time: plans are committed to the state machine, what they evicted has ended',
  );
}

/** Each came in place of exactly one. @param {import('@waybill/scheduler').Attempt} attempt */
function requireEvictions({ plan }) {
  const placed = Object.values(plan.NodeAllocation).flat();
  const victims = Object.values(plan.NodePreemptions).flat();
  if (placed.length !== PER_PASS || victims.length !== PER_PASS)
    throw new Error(`${placed.length} placed for ${victims.length} evicted`);
}

function fullCluster() {
  const cluster = clusterOf(NODES, 50);
  const low = cluster.register(serviceJob({ id: 'low', count: LOW, cpu: LOW_MHZ, Priority: 20 }));
  for (let left = LOW; left > 0; left -= PER_PASS) cluster.commit(attemptFor(cluster, low));
  return cluster;
}
