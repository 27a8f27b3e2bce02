import {
  isActiveDeployment,
  isTerminalAllocation,
  type Allocation,
  type Deployment,
  type DeploymentState,
} from '@waybill/model';
import type { Applied, Change, Tables } from '@waybill/state';
import { isRestore, type Invariant, type ReportViolation } from './invariant.js';

/**
 * What a deployment has heard of one of its allocations: from `placed` on, and never back. `ended`: a healthy canary that
 * ended while its promotion was waited for, and counts as placed only.
 */
type Heard = 'placed' | 'healthy' | 'ended' | 'unhealthy';

/** The counters of a group, and what each counts. */
const COUNTERS = [
  ['PlacedAllocs', ['placed', 'healthy', 'ended', 'unhealthy']],
  ['HealthyAllocs', ['healthy']],
  ['UnhealthyAllocs', ['unhealthy']],
] as const;

/**
 * The counters of a deployment are those of the allocations that were ever placed for it (ST-119), whatever became of
 * them since, but for canaries that end before they are promoted, at every index that touches one; and its canaries are
 * among them. A restore is believed: what was heard of
 * allocations that are gone from its rows is what its counters say beyond them. Memory: one entry per allocation and
 * stored deployment. Cost: the allocations of the deployments that a transaction touches.
 */
export class DeploymentCounters implements Invariant {
  /** By deployment, by group, by allocation. */
  private readonly heard = new Map<string, Map<string, Map<string, Heard>>>();

  after(applied: Applied, tables: Tables, report: ReportViolation): void {
    if (isRestore(applied)) this.beginAnew(tables);
    else this.follow(applied, tables, report);
  }

  private beginAnew(tables: Tables): void {
    this.heard.clear();
    for (const deployment of tables.deployment.all()) {
      for (const alloc of tables.allocs.by('deployment', deployment.ID))
        this.of(deployment.ID, alloc.TaskGroup).set(alloc.ID, heardOf(alloc, isAwaited(deployment, alloc)) ?? 'placed');
      for (const [group, state] of Object.entries(deployment.TaskGroups)) {
        const allocs = this.of(deployment.ID, group);
        for (const [id, heard] of heardOfOthers(state, allocs)) allocs.set(id, heard);
      }
    }
  }

  private follow({ index, changes }: Applied, tables: Tables, report: ReportViolation): void {
    const touched = new Map<string, Deployment | undefined>();
    for (const change of changes) {
      if (change.table !== 'allocs' || !change.after?.DeploymentID) continue;
      this.hear(change, tables);
      touched.set(change.after.DeploymentID, tables.deployment.get(change.after.DeploymentID));
    }
    for (const change of changes) if (change.table === 'deployment') touched.set(change.key, change.after);
    for (const [id, deployment] of touched) {
      if (deployment) this.compare(deployment, index, report);
      else this.heard.delete(id);
    }
  }

  private hear({ before, after }: Extract<Change, { table: 'allocs' }>, tables: Tables): void {
    if (!after) return;
    const known = this.of(after.DeploymentID, after.TaskGroup);
    const last = known.get(after.ID);
    if (before?.DeploymentID !== after.DeploymentID) known.set(after.ID, last ?? 'placed');
    else if (last && last !== 'unhealthy') {
      const deployment = tables.deployment.get(after.DeploymentID);
      const awaited = deployment !== undefined && isAwaited(deployment, after);
      const news = heardOf(after, awaited) ?? last;
      // What has ended stays so once its deployment is over.
      known.set(after.ID, news === 'healthy' && last === 'ended' && !awaited ? last : news);
    }
  }

  private of(deployment: string, group: string): Map<string, Heard> {
    const groups = this.heard.get(deployment) ?? new Map<string, Map<string, Heard>>();
    this.heard.set(deployment, groups);
    const allocs = groups.get(group) ?? new Map<string, Heard>();
    groups.set(group, allocs);
    return allocs;
  }

  private compare({ ID, TaskGroups }: Deployment, index: number, report: ReportViolation): void {
    const say = (message: string): void =>
      report({ invariant: 'deployment-counters', index, subject: `deployment ${ID}`, message });
    for (const [group, state] of Object.entries(TaskGroups)) {
      const allocs = this.of(ID, group);
      for (const [counter, counted] of COUNTERS) {
        const expected = [...allocs.values()].filter((heard) => counted.some((one) => one === heard)).length;
        if (state[counter] !== expected)
          say(`${counter} of ${group} is ${state[counter]}, and ${expected} allocations are`);
      }
      const stranger = state.PlacedCanaries.find((id) => !allocs.has(id));
      if (stranger !== undefined) say(`canary ${stranger} of ${group} was not placed for it`);
    }
  }
}

/** What a group's counters tell of allocations beside those that are known; canaries among them by their ids. */
function heardOfOthers(state: DeploymentState, known: ReadonlyMap<string, Heard>): [string, Heard][] {
  const left = (counter: number, counted: Heard): number =>
    counter - [...known.values()].filter((heard) => heard === counted).length;
  const healthy = left(state.HealthyAllocs, 'healthy');
  const unhealthy = left(state.UnhealthyAllocs, 'unhealthy');
  const others = Math.max(0, state.PlacedAllocs - known.size);
  const canaries = state.PlacedCanaries.filter((id) => !known.has(id));
  return Array.from({ length: others }, (_, n) => [
    canaries[n] ?? `another ${n}`,
    n < healthy ? 'healthy' : n < healthy + unhealthy ? 'unhealthy' : 'placed',
  ]);
}

/** @param isAwaited whether a deployment that goes on waits for its promotion, if it is a canary */
function heardOf(alloc: Allocation, isAwaited: boolean): Heard | undefined {
  const healthy = alloc.DeploymentStatus?.Healthy ?? null;
  if (healthy === null) return undefined;
  if (!healthy) return 'unhealthy';
  return isAwaited && alloc.DeploymentStatus?.Canary === true && isTerminalAllocation(alloc) ? 'ended' : 'healthy';
}

const isAwaited = (deployment: Deployment, { TaskGroup }: Allocation): boolean =>
  isActiveDeployment(deployment) && deployment.TaskGroups[TaskGroup]?.Promoted !== true;
