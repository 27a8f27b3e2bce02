import {
  requiresPromotion,
  type Allocation,
  type Deployment,
  type DeploymentState,
  type DeploymentStatusUpdate,
  type Evaluation,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import { isCanary, isLive } from './classification.js';
import { descriptionOf, Rollout, updateOf } from './rollout.js';

/** How the rollout of one group continues in this attempt. */
export interface SystemStep {
  /** Number of destructive updates that may be made; the others wait. */
  readonly limit: number;
  /** Whether updated allocations are canaries (SC-294). */
  readonly asCanaries: boolean;
  /** Number of canaries that exist already, or that replace failed ones. */
  readonly canaries: number;
}

export interface SystemRolloutInput {
  /** Null: the job was stopped or purged. */
  readonly job: Job | null;
  readonly allocs: readonly Allocation[];
  readonly latest: Deployment | null;
  /** Whether the job is of type system (SC-288). */
  readonly isOn: boolean;
  /** `isNews` of the reconciliation (SC-288). */
  readonly isNews: boolean;
  /**
   * IDs of allocations that this attempt stops because their node drains or is gone: they do not count as canaries any
   * more (SC-295).
   */
  readonly stopped: ReadonlySet<string>;
  readonly newId: () => string;
}

/**
 * The deployment of a system job (18.1): its groups, their rates, their wanted allocations, and when they are done. One
 * for each attempt; off for sysbatch, of which nothing is held back. Cost: O(allocations of the job) for each group.
 */
export class SystemRollout {
  readonly rollout: Rollout;
  /** The deployment of new and updated allocations; empty: none. */
  readonly deploymentId: string;
  private readonly createdId: string;
  private readonly states = new Map<string, DeploymentState>();
  private readonly waiting = new Set<string>();

  constructor(private readonly input: SystemRolloutInput) {
    const { job, latest, isOn } = input;
    this.rollout = new Rollout(job, latest, isOn);
    for (const group of job?.TaskGroups ?? []) {
      const known = this.rollout.stateOf(group.Name);
      const state = known ?? (this.mayJoin() ? this.rollout.newStateFor(group) : undefined);
      if (state) this.states.set(group.Name, { ...state });
    }
    this.createdId = !this.rollout.current && this.states.size > 0 ? input.newId() : '';
    this.deploymentId = this.rollout.activeId || this.createdId;
  }

  /** Whether the deployment is paused or failed: missing allocations are placed, and none is replaced (SC-299). */
  get isHeld(): boolean {
    return this.rollout.isPaused || this.rollout.isFailed;
  }

  /**
   * The next step of the group (SC-280, SC-281, SC-292 to SC-295).
   *
   * @param replaceable destructive updates of the group on feasible nodes
   * @param replacedCanaries failed canaries that are placed again
   */
  stepOf(group: TaskGroup, replaceable: number, replacedCanaries: number): SystemStep {
    const free: SystemStep = { limit: Infinity, asCanaries: false, canaries: 0 };
    const { job, isOn } = this.input;
    if (!isOn || !job) return free;
    if (this.isHeld) return { ...free, limit: 0 };
    const state = this.states.get(group.Name);
    const update = updateOf(group);
    const canaries = this.liveCanaries(group).length + replacedCanaries;
    if (state && update && this.isCanarying(state, update.Canary, job, replaceable)) {
      state.DesiredCanaries = Math.min(Math.ceil((update.Canary * (replaceable + canaries)) / 100), update.MaxParallel);
      return { limit: Math.max(0, state.DesiredCanaries - canaries), asCanaries: true, canaries };
    }
    const maxParallel = update?.MaxParallel ?? (job.Update.MaxParallel > 0 ? job.Update.MaxParallel : Infinity);
    return { limit: Math.max(0, maxParallel - this.undecided(group)), asCanaries: false, canaries: 0 };
  }

  /** Whether the allocation was a canary, so that its replacement is one (SC-295). */
  wasCanary(alloc: Allocation | undefined): boolean {
    if (!alloc || !isCanary(alloc) || alloc.DeploymentID !== this.rollout.activeId) return false;
    return this.states.get(alloc.TaskGroup)?.Promoted === false;
  }

  /**
   * Sets the number of allocations that the group wants (SC-291). @param waiting whether updates of the group are still
   * to come
   */
  setWanted(group: string, total: number, waiting: boolean): void {
    const state = this.states.get(group);
    if (state && !this.rollout.isFailed) state.DesiredTotal = total;
    if (waiting) this.waiting.add(group);
  }

  /**
   * The deployment as the plan carries it, if it changes, and its changes of status. As for a service job (SC-237),
   * none is created while no node can run the job: nothing would complete it, and its version would be reverted at its
   * deadline.
   */
  result(evaluation: Evaluation, nowNs: number): { deployment: Deployment | null; updates: DeploymentStatusUpdate[] } {
    const { rollout } = this;
    const isAny = rollout.current !== null || [...this.states.values()].some(({ DesiredTotal }) => DesiredTotal > 0);
    for (const [name, state] of isAny ? this.states : []) {
      const known = rollout.stateOf(name);
      const same = known?.DesiredTotal === state.DesiredTotal && known.DesiredCanaries === state.DesiredCanaries;
      if (!same) rollout.attachGroup(name, state);
    }
    const Priority = this.input.job?.Priority ?? evaluation.Priority; // the job's own priority (DP-112)
    const deployment = this.input.isOn ? rollout.result({ Priority }, () => this.createdId, nowNs) : null;
    const updates = [...rollout.updates, ...this.announcement(deployment)];
    const before = rollout.updates.length;
    if (this.isComplete()) rollout.completeDeployment();
    return { deployment, updates: [...updates, ...rollout.updates.slice(before)] };
  }

  /**
   * Whether groups may join: there is never a second deployment for a version, and none for a version that is half
   * rolled out without one (SC-288 to SC-290).
   */
  private mayJoin(): boolean {
    const { job, allocs, latest, isNews } = this.input;
    const { old } = this.rollout;
    if (!this.rollout.isOn || !job || !isNews || this.isHeld) return false;
    if (old?.JobVersion === job.Version && old.JobCreateIndex === job.CreateIndex) return false;
    const isHalfWay = allocs.some(
      (a) => isLive(a) && a.Job?.Version === job.Version && a.Job.CreateIndex === job.CreateIndex,
    );
    return latest !== null || !isHalfWay;
  }

  /** Whether the group waits for the promotion of its canaries (SC-293). */
  private isCanarying(state: DeploymentState, canary: number, job: Job, replaceable: number): boolean {
    if (canary <= 0 || state.Promoted || job.Version === 0) return false;
    return replaceable > 0 || state.DesiredCanaries > 0;
  }

  private liveCanaries(group: TaskGroup): Allocation[] {
    const { allocs, stopped } = this.input;
    return allocs.filter((a) => a.TaskGroup === group.Name && isLive(a) && !stopped.has(a.ID) && this.wasCanary(a));
  }

  /** Allocations of the group whose health is not decided yet (SC-281). */
  private undecided(group: TaskGroup): number {
    const { activeId } = this.rollout;
    return this.input.allocs.filter(
      (a) =>
        a.TaskGroup === group.Name &&
        activeId !== '' &&
        a.DeploymentID === activeId &&
        isLive(a) &&
        (a.DeploymentStatus?.Healthy ?? null) === null,
    ).length;
  }

  /** The status with which the deployment is created, and that it waits for promotion (SC-288, SC-296, DP-1606). */
  private announcement(changed: Deployment | null): DeploymentStatusUpdate[] {
    const { current } = this.rollout;
    const deployment = changed ?? current;
    if (deployment?.Status !== 'running') return [];
    const description = descriptionOf(deployment);
    const isNew = current === null;
    const isMissing = requiresPromotion(deployment) && current?.StatusDescription !== description;
    if (!isNew && !isMissing) return [];
    return [{ DeploymentID: deployment.ID, Status: 'running', StatusDescription: description }];
  }

  /** Whether every group is healthy and promoted (SC-298). */
  private isComplete(): boolean {
    const { current } = this.rollout;
    if (!current || this.states.size === 0) return false;
    for (const [name, state] of this.states) {
      if (!this.rollout.stateOf(name) || this.waiting.has(name)) return false;
      const isCanarying = state.DesiredCanaries > 0 && !state.Promoted;
      if (isCanarying || state.HealthyAllocs < state.DesiredTotal) return false;
    }
    return true;
  }
}
