import type { Cluster } from './cluster.js';
import { InvariantError } from './checks/violation.js';
import { RestCheck } from './checks/rest.js';
import { tooLarge } from './checks/natural-sizes.js';
import { FAULTS, type Faults, POWER_FAULTS } from './faults/faults.js';
import { HOSTILE_FAULTS } from './faults/hostile-machine.js';
import { REGION_FAULTS } from './faults/region-faults.js';
import { Federation } from './federation.js';
import { forbidRealWorld } from './kernel/real-world.js';
import { SeededRandom } from './kernel/seeded-random.js';
import { BEGINNING_MS, Simulator } from './kernel/simulator.js';
import type { PlannedEvent, RunPlan } from './run-plan.js';
import { ACTIONS, ACTIONS_IN_REGIONS } from './workload/actions.js';
import { ACCESS_EVENTS } from './access/access-plan.js';
import { KEY_ACTIONS } from './keys/key-actions.js';
import { VARIABLE_ACTIONS } from './workload/variable-actions.js';

const FAULTS_BY_NAME: Faults = { ...FAULTS, ...POWER_FAULTS, ...REGION_FAULTS, ...HOSTILE_FAULTS };

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
  /** What readers or clients of variables were given, by kind; empty without access control and keyring. */
  readonly judged: ReadonlyMap<string, number>;
  /** Simulated time, milliseconds. */
  readonly simulatedMs: number;
  readonly failure: Error | undefined;
  /** As they stood at the end, for the story of a failure; one for each region. */
  readonly clusters: readonly Cluster[];
}

/** Runs a plan to its end, lets everything come to rest, and checks. Real clock, chance and timers are out of reach. */
export async function simulate(plan: RunPlan): Promise<RunResult> {
  const simulator = new Simulator();
  const random = new SeededRandom(`run ${plan.seed}`);
  const federation = new Federation(simulator, random, plan);
  const rejected = (reason: unknown): void =>
    simulator.fail(reason instanceof Error ? reason : new Error(String(reason)));
  process.prependListener('unhandledRejection', rejected);
  const allowRealWorld = forbidRealWorld();
  let failure: Error | undefined;
  try {
    await perform(plan, federation);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  } finally {
    allowRealWorld();
    process.off('unhandledRejection', rejected);
  }
  return {
    seed: plan.seed,
    hash: simulator.history.hash,
    transactions: federation.transactions,
    events: simulator.eventCount,
    faults: new Set(plan.events.filter(({ kind }) => kind === 'fault').map(({ name }) => name)),
    acknowledged: federation.acknowledged,
    judged: federation.clusters[0]?.readers?.judged ?? federation.clusters[0]?.keys?.judged ?? new Map(),
    simulatedMs: simulator.nowMs - BEGINNING_MS,
    failure,
    clusters: federation.clusters,
  };
}

async function perform(plan: RunPlan, federation: Federation): Promise<void> {
  const { simulator } = federation;
  for (const event of plan.events)
    simulator.schedule(event.atMs, `${event.kind} ${event.name}`, () => happen(event, federation));
  federation.start();
  const lastMs = plan.events.at(-1)?.atMs ?? 0;
  await simulator.runUntil(BEGINNING_MS + lastMs);
  await new RestCheck(federation).comeToRest();
}

const ALL_ACTIONS = { ...KEY_ACTIONS, ...VARIABLE_ACTIONS, ...ACTIONS_IN_REGIONS, ...ACTIONS, ...ACCESS_EVENTS };

/** To one of the regions. */
function happen({ kind, name, luck }: PlannedEvent, { regions, simulator }: Federation): void {
  const random = new SeededRandom(luck);
  const { cluster, user } = random.fork('region').pick(regions);
  const excess = tooLarge(cluster.servers, cluster.reference.applied);
  if (excess) return simulator.fail(new InvariantError('bounded-memory', excess));
  if (kind === 'fault') FAULTS_BY_NAME[name]?.[1](cluster, random);
  else user.act(name, random, (api) => ALL_ACTIONS[name]?.[1](api, cluster, random));
}
