import { Cluster } from './cluster.js';
import { InvariantError } from './checks/violation.js';
import { RestCheck } from './checks/rest.js';
import { tooLarge } from './checks/natural-sizes.js';
import { FAULTS } from './faults/faults.js';
import { forbidRealWorld } from './kernel/real-world.js';
import { SeededRandom } from './kernel/seeded-random.js';
import { BEGINNING_MS, Simulator } from './kernel/simulator.js';
import type { PlannedEvent, RunPlan } from './run-plan.js';
import { ACTIONS } from './workload/actions.js';
import { User } from './workload/user.js';

/** What a run came to. */
export interface RunResult {
  readonly seed: number;
  /** Of everything that happened: equal for equal plans, on any machine. */
  readonly hash: string;
  readonly transactions: number;
  readonly events: number;
  /** Those that happened. */
  readonly faults: ReadonlySet<string>;
  /** By action, how often a user was told that it is done. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Simulated time, milliseconds. */
  readonly simulatedMs: number;
  readonly failure: Error | undefined;
  /** As it stood at the end, for the story of a failure. */
  readonly cluster: Cluster;
}

/** Runs a plan to its end, lets everything come to rest, and checks. Real clock, chance and timers are out of reach. */
export async function simulate(plan: RunPlan, prepare: (cluster: Cluster) => void = () => {}): Promise<RunResult> {
  const simulator = new Simulator();
  const random = new SeededRandom(`run ${plan.seed}`);
  const cluster = new Cluster(simulator, random, plan, (invariant, details) =>
    simulator.fail(new InvariantError(invariant, details)),
  );
  const rejected = (reason: unknown): void =>
    simulator.fail(reason instanceof Error ? reason : new Error(String(reason)));
  process.prependListener('unhandledRejection', rejected);
  const allowRealWorld = forbidRealWorld();
  let failure: Error | undefined;
  try {
    prepare(cluster);
    await perform(plan, cluster);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  } finally {
    allowRealWorld();
    process.off('unhandledRejection', rejected);
  }
  return {
    seed: plan.seed,
    hash: simulator.history.hash,
    transactions: cluster.log.length,
    events: simulator.eventCount,
    faults: new Set(plan.events.filter(({ kind }) => kind === 'fault').map(({ name }) => name)),
    acknowledged: cluster.writes.byAction,
    simulatedMs: simulator.nowMs - BEGINNING_MS,
    failure,
    cluster,
  };
}

async function perform(plan: RunPlan, cluster: Cluster): Promise<void> {
  const { simulator } = cluster;
  const user = new User(cluster, (invariant, details) => simulator.fail(new InvariantError(invariant, details)));
  for (const event of plan.events)
    simulator.schedule(event.atMs, `${event.kind} ${event.name}`, () => happen(event, cluster, user));
  cluster.start();
  const lastMs = plan.events.at(-1)?.atMs ?? 0;
  await simulator.runUntil(BEGINNING_MS + lastMs);
  await new RestCheck(cluster, user).comeToRest();
}

function happen({ kind, name, luck }: PlannedEvent, cluster: Cluster, user: User): void {
  const random = new SeededRandom(luck);
  const excess = tooLarge(cluster.servers);
  if (excess) return cluster.simulator.fail(new InvariantError('bounded-memory', excess));
  if (kind === 'fault') FAULTS[name]?.[1](cluster, random);
  else user.act(name, random, (api) => ACTIONS[name]?.[1](api, cluster, random));
}
