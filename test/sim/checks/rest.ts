import {
  type Deployment,
  isTerminalAllocation,
  isClientTerminal,
  isServerTerminal,
  msFromNs,
  nsFromRfc3339,
} from '@waybill/model';
import { TIME_HEADER } from '@waybill/projection';
import { SINGLETON_KEY, StateMachine } from '@waybill/state';
import { compareStates } from '@waybill/verify';
import type { Cluster } from '../cluster.js';
import type { Federation } from '../federation.js';
import { SeededRandom } from '../kernel/seeded-random.js';
import { unpauseBroker } from '../workload/operator-actions.js';
import { notAtRest } from './natural-sizes.js';
import { expectNothingLeftToDo } from './nothing-left-to-do.js';
import { openBetweenRegions } from './region-rollouts.js';
import { expectNoShortGroup } from './short-groups.js';
import { differingTable } from './state-equality.js';
import { InvariantError } from './violation.js';
import { undecidedHealth } from './undecided-health.js';
import { openClaim } from './volume-claims.js';

/** When faults have stopped, everything must have ended after this, simulated milliseconds. */
export const REST_LIMIT_MS = 30 * 60_000;
/** The broker looks at root keys every ten minutes, and may have to take several steps. */
const REST_LIMIT_WITH_KEYS_MS = 60 * 60_000;
/** Between two looks. */
const LOOK_MS = 5_000;
/** At rest only if nothing was open for this many looks in a row, and nothing happened between the last two. */
const QUIET_LOOKS = 4;

/** The end of a run: faults stop, everything that is open ends, and then all copies of the truth are compared. */
export class RestCheck {
  constructor(private readonly federation: Federation) {}

  /** @throws InvariantError */
  async comeToRest(): Promise<void> {
    const { federation } = this;
    const { simulator } = federation;
    federation.repair();
    const limitMs = federation.clusters.some(({ keys }) => keys) ? REST_LIMIT_WITH_KEYS_MS : REST_LIMIT_MS;
    const untilMs = simulator.nowMs + limitMs;
    for (let quiet = 0, written = 0; quiet < QUIET_LOOKS;) {
      await simulator.runUntil(simulator.nowMs + LOOK_MS);
      const open = this.whatIsOpen();
      const before = written;
      written = federation.clusters.reduce((sum, { world }) => sum + world.stream.last, 0);
      if (open !== undefined) quiet = 0;
      else if (written === before || quiet + 1 < QUIET_LOOKS) quiet++;
      if (simulator.nowMs >= untilMs) throw new InvariantError('everything-ends', open ?? 'it does not stay at rest');
      for (const { cluster, user } of federation.regions)
        if (isPaused(cluster)) user.act('unpause broker', new SeededRandom(String(simulator.nowMs)), unpauseBroker);
    }
    for (const cluster of federation.clusters) expectAtRest(cluster);
  }

  /** Returns the work that must still end, in words; undefined if there is none. */
  private whatIsOpen(): string | undefined {
    const { clusters } = this.federation;
    for (const cluster of clusters) {
      const open = openIn(cluster);
      if (open !== undefined) return open;
    }
    return openBetweenRegions(clusters);
  }
}

/** Of one region. */
function openIn(cluster: Cluster): string | undefined {
  const { tables, simulator } = cluster;
  const last = cluster.world.stream.last;
  const { undecided } = cluster.operator;
  if (undecided !== undefined) {
    cluster.operator.look();
    return undecided;
  }
  if (isPaused(cluster)) return 'the broker is paused';
  for (const { name, isServing, state } of cluster.servers) {
    if (!isServing || !state) return `${name} does not serve`;
    if (state.appliedIndex < last) return `${name} is at index ${state.appliedIndex} of ${last}`;
  }
  if (cluster.world.postgres.appliedIndex < last)
    return `Postgres is at ${cluster.world.postgres.appliedIndex} of ${last}`;
  for (const evaluation of tables.evals.by('status', 'pending'))
    if (msFromNs(nsFromRfc3339(evaluation.WaitUntil)) <= simulator.nowMs)
      return `evaluation ${evaluation.ID} of ${evaluation.JobID} (${evaluation.TriggeredBy}) is pending`;
  for (const { ID, JobID, TriggeredBy, ModifyIndex } of tables.evals.by('status', 'blocked'))
    if (TriggeredBy === 'max-plan-attempts' && isRecent(cluster, ModifyIndex))
      return `evaluation ${ID} of ${JobID} is looked at again (EB-186)`;
  for (const deployment of tables.deployment.all())
    if (deployment.Status === 'running' && hasDeadline(deployment) && !isWaitingForPromotion(deployment))
      return `deployment ${deployment.ID} of ${deployment.JobID} is running`;
  for (const { Name, Status, DrainStrategy } of tables.nodes.all()) {
    if (Status !== 'ready') return `node ${Name} is ${Status}`;
    if (DrainStrategy) return `node ${Name} drains`;
  }
  for (const alloc of tables.allocs.all()) {
    if (isTerminalAllocation(alloc) && (isClientTerminal(alloc) || !isServerTerminal(alloc))) continue;
    const wanted = isServerTerminal(alloc) ? 'stopped' : 'running';
    const isThere = wanted === 'running' && alloc.ClientStatus === 'running';
    if (!isThere) return `allocation ${alloc.ID} of ${alloc.JobID} is to be ${wanted} and is ${alloc.ClientStatus}`;
  }
  for (const { Path } of tables.variables.by('locked', SINGLETON_KEY)) return `variable ${Path} is locked`;
  return (
    cluster.keys?.open() ??
    undecidedHealth(tables) ??
    openClaim(tables) ??
    cluster.hostVolumes.stray() ??
    notAtRest(cluster.servers)
  );
}

/** An evaluation that ran out of plan attempts was tried again twice by then (EB-186), and found no room. */
const TRIED_AGAIN_MS = 150_000;

function isRecent({ world, simulator }: Cluster, index: number): boolean {
  return simulator.nowMs - (world.stream.stored[index - 1]?.storedAtMs ?? 0) < TRIED_AGAIN_MS;
}

/** @throws InvariantError */
function expectAtRest(cluster: Cluster): void {
  cluster.reference.finish();
  cluster.agreement.finish();
  expectNoShortGroup(cluster.tables, cluster.simulator.nowMs);
  // Runs with a keyring last so long that the collector takes ended allocations of system jobs.
  if (!cluster.keys) expectNothingLeftToDo(cluster);
  comparePostgres(cluster);
  compareEvents(cluster);
  cluster.keys?.finish();
  for (const stream of cluster.readers?.streams ?? []) stream.finish();
}

function isPaused({ tables }: Cluster): boolean {
  for (const { PauseEvalBroker } of tables.scheduler_config.all()) if (PauseEvalBroker) return true;
  return false;
}

function comparePostgres(cluster: Cluster): void {
  const projected = new StateMachine();
  cluster.world.postgres.loadInto(projected);
  const { machine } = cluster.reference;
  if (!differingTable(machine.tables, projected.tables)) return;
  const different = compareStates(machine, projected).tables.filter((one) => one.differences > 0 || one.tableIndexes);
  throw new InvariantError('postgres-equals-log', JSON.stringify(different));
}

/** EV-60: every frame once, in order, with all its parts. */
function compareEvents(cluster: Cluster): void {
  const { parts } = cluster.world.events;
  const broken = parts.find(({ part }, at) => part !== 1 && parts[at - 1]?.part !== part - 1);
  if (broken) throw new InvariantError('events-complete', `part ${broken.part} of frame ${broken.index} stands alone`);
  const ofAnother = parts.find(
    ({ index, headers }) => Number(headers[TIME_HEADER]) !== cluster.reference.applied[index - 1]?.txn.timeNs,
  );
  if (ofAnother) throw new InvariantError('events-complete', `frame ${ofAnother.index} is of another transaction`);
  const expected = cluster.reference.frames();
  const actual = parts.filter(({ part, parts: of }) => part === of).map(({ index }) => index);
  const at = Array.from({ length: Math.max(expected.length, actual.length) }, (_, n) => n).find(
    (n) => expected[n] !== actual[n],
  );
  if (at !== undefined)
    throw new InvariantError('events-complete', `frame ${at} is of index ${actual[at]}, expected ${expected[at]}`);
}

/** A group of which nothing was placed yet, or that was healthy once, waits for capacity as long as it takes (DP-507, DP-510). */
function hasDeadline({ TaskGroups }: Deployment): boolean {
  return Object.values(TaskGroups).some(
    (group) => group.RequireProgressBy !== null && group.HealthyAllocs < group.DesiredTotal,
  );
}

/** Its canaries are healthy: nobody promotes them any more, and without progress it has no deadline (DP-508, DP-509). */
function isWaitingForPromotion({ TaskGroups }: Deployment): boolean {
  return Object.values(TaskGroups).some(
    (group) => group.DesiredCanaries > 0 && !group.Promoted && group.HealthyAllocs >= group.DesiredCanaries,
  );
}
