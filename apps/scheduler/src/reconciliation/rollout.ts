import {
  deployedJob,
  DEPLOYMENT_AUTO_PROMOTION,
  DEPLOYMENT_BLOCKED_PEER,
  DEPLOYMENT_NEEDS_PROMOTION,
  DEPLOYMENT_NEWER_JOB,
  DEPLOYMENT_PENDING_PEER,
  DEPLOYMENT_RUNNING,
  DEPLOYMENT_STOPPED_JOB,
  DEPLOYMENT_SUCCESSFUL,
  hasAutoPromote,
  isActiveDeployment,
  requiresPromotion,
  type Deployment,
  type DeploymentState,
  type DeploymentStatusUpdate,
  type Evaluation,
  type Job,
  type TaskGroup,
  type UpdateStrategy,
} from '@waybill/model';

/** The part of a group's state that the scheduler decides; the state machine counts the allocations (SC-236). */
function newState(update: UpdateStrategy): DeploymentState {
  return {
    AutoRevert: update.AutoRevert,
    AutoPromote: update.AutoPromote,
    ProgressDeadline: update.ProgressDeadline,
    RequireProgressBy: null,
    Promoted: false,
    PlacedCanaries: [],
    DesiredCanaries: 0,
    DesiredTotal: 0,
    PlacedAllocs: 0,
    HealthyAllocs: 0,
    UnhealthyAllocs: 0,
  };
}

/** The `update` block, if it has an effect: no block and no parallelism are the same (1.6). */
export function updateOf(group: Pick<TaskGroup, 'Update'> | undefined): UpdateStrategy | undefined {
  return group?.Update && group.Update.MaxParallel > 0 ? group.Update : undefined;
}

/**
 * The deployments of one job in one attempt (14.9): which one is over, which one continues, and what is added or
 * created. One for each attempt; the stored deployment is copied, never changed.
 *
 * Modes: on, or off for types without deployments (SC-244, SC-288): none is read and none is created.
 */
export class Rollout {
  /** A deployment that is superseded, of a stopped job, or successful: only its canaries still matter. */
  readonly old: Deployment | null = null;
  readonly current: Deployment | null = null;
  readonly updates: DeploymentStatusUpdate[] = [];
  private readonly attached = new Map<string, DeploymentState>();

  constructor(
    private readonly job: Job | null,
    latest: Deployment | null,
    readonly isOn: boolean,
  ) {
    if (!isOn || !latest) return;
    if (!job || job.Stop) {
      this.old = latest;
      this.cancelDeployment(latest, DEPLOYMENT_STOPPED_JOB); // the job was stopped (SC-232)
    } else if (latest.JobCreateIndex !== job.CreateIndex || latest.JobVersion !== job.Version) {
      this.old = latest;
      this.cancelDeployment(latest, DEPLOYMENT_NEWER_JOB); // a newer version superseded it (SC-233)
    } else if (latest.Status === 'successful') this.old = latest; // it is over (SC-234)
    else this.current = structuredClone(latest);
    // Its turn has not come (SC-242).
    if (this.current?.Status === 'initializing') this.addUpdate(this.current, 'pending', DEPLOYMENT_PENDING_PEER);
  }

  /** Whether the current deployment is paused (SC-235). */
  get isPaused(): boolean {
    const status = this.current?.Status;
    return status === 'paused' || status === 'pending' || status === 'initializing';
  }

  get isFailed(): boolean {
    return this.current?.Status === 'failed';
  }

  /** Whether the region's turn in a multiregion rollout has not come (DP-1110). */
  get isBeforeItsTurn(): boolean {
    return this.current !== null && waitsForItsTurn(this.current);
  }

  /** ID of the current deployment while it is active. */
  get activeId(): string {
    return this.current && isActiveDeployment(this.current) ? this.current.ID : '';
  }

  stateOf(group: string): DeploymentState | undefined {
    const states = this.current?.TaskGroups;
    return states && Object.hasOwn(states, group) ? states[group] : undefined;
  }

  newStateFor(group: TaskGroup): DeploymentState | undefined {
    const update = this.isOn ? updateOf(group) : undefined;
    return update && newState(update);
  }

  /** Canaries of deployments that are over (SC-215). */
  unneededCanaries(): Set<string> {
    const over = [this.old, this.isFailed ? this.current : null];
    const states = over.flatMap((deployment) => Object.values(deployment?.TaskGroups ?? {}));
    return new Set(states.filter((state) => !state.Promoted).flatMap((state) => state.PlacedCanaries));
  }

  /** Adds the group to the current deployment, or to the one that is created (SC-237). */
  attachGroup(group: string, state: DeploymentState): void {
    this.attached.set(group, state);
  }

  /**
   * Completes the deployment if every group of the job is done (SC-241): not before a region's turn has come, and not a
   * deployment that is over.
   * @returns the ID of the deployment that succeeds, if one does
   */
  completeDeployment(): string | undefined {
    const { current } = this;
    if (!current || !isActiveDeployment(current)) return undefined;
    if (waitsForItsTurn(current)) return undefined;
    if (!current.IsMultiregion) {
      this.addUpdate(current, 'successful', DEPLOYMENT_SUCCESSFUL);
      return current.ID;
    }
    if (current.Status !== 'unblocking' && current.Status !== 'blocked')
      this.addUpdate(current, 'blocked', DEPLOYMENT_BLOCKED_PEER);
    return undefined;
  }

  /** The deployment as the plan carries it; null if it did not change (SC-238). */
  result(evaluation: Pick<Evaluation, 'Priority'>, newId: () => string, nowNs: number): Deployment | null {
    const { current, job } = this;
    const states = Object.fromEntries(this.attached);
    if (current) {
      const isNew = current.Status === 'initializing';
      if (this.attached.size === 0 && !isNew) return null;
      return { ...current, TaskGroups: { ...current.TaskGroups, ...states } };
    }
    if (this.attached.size === 0 || !job) return null;
    const created: Deployment = {
      ID: newId(),
      ...deployedJob(job),
      IsMultiregion: false,
      TaskGroups: states,
      Status: 'running',
      StatusDescription: DEPLOYMENT_RUNNING,
      EvalPriority: evaluation.Priority,
      CreateIndex: 0,
      ModifyIndex: 0,
      CreateTime: nowNs,
      ModifyTime: nowNs,
    };
    return { ...created, StatusDescription: descriptionOf(created) };
  }

  private cancelDeployment(deployment: Deployment, description: string): void {
    if (isActiveDeployment(deployment)) this.addUpdate(deployment, 'cancelled', description);
  }

  private addUpdate({ ID }: Deployment, status: DeploymentStatusUpdate['Status'], description: string): void {
    this.updates.push({ DeploymentID: ID, Status: status, StatusDescription: description });
  }
}

/**
 * Whether nothing of the deployment's version may be placed yet (DP-1110): it has not run, or an operator paused it
 * before it did (DP-1118).
 */
export function waitsForItsTurn({
  Status,
  IsMultiregion,
  HasRun,
}: Pick<Deployment, 'Status' | 'IsMultiregion' | 'HasRun'>): boolean {
  return Status === 'initializing' || Status === 'pending' || (Status === 'paused' && IsMultiregion && HasRun !== true);
}

/** Describes what a running deployment waits for (SC-238). */
export function descriptionOf(deployment: Pick<Deployment, 'Status' | 'TaskGroups'>): string {
  if (!requiresPromotion(deployment)) return DEPLOYMENT_RUNNING;
  return hasAutoPromote(deployment) ? DEPLOYMENT_AUTO_PROMOTION : DEPLOYMENT_NEEDS_PROMOTION;
}
