import {
  type AllocCheckStatus,
  type CancelTimer,
  type Clock,
  formatDuration,
  type MigrateStrategy,
  msFromNs,
  type TaskGroup,
  type TaskState,
  type Timers,
} from '@waybill/model';
import type { TaskKind } from '../tasks/task-lifecycle.js';

/**
 * HealthTerms are the terms of a health decision. Durations are in nanoseconds as in the job, because messages show
 * them.
 */
export interface HealthTerms {
  readonly minHealthyTimeNs: number;
  readonly healthyDeadlineNs: number;
  /** Whether the checks of the group's and the tasks' services must pass too (AG-124). */
  readonly useChecks: boolean;
}

const DEFAULT_TERMS: HealthTerms = { minHealthyTimeNs: 10e9, healthyDeadlineNs: 300e9, useChecks: true };

export interface WatchedTask {
  readonly name: string;
  readonly kind: TaskKind;
  readonly state: Pick<TaskState, 'State' | 'Failed' | 'StartedAt'>;
}

/** WatchedCheck is a check that health depends on. */
export interface WatchedCheck {
  readonly service: string;
  /** The name of its task; empty for a check of the group. */
  readonly task: string;
  /** The status; undefined if its service is not registered. */
  readonly status: AllocCheckStatus['Status'] | undefined;
  /** Unix time in milliseconds; undefined if it does not pass. */
  readonly passingSinceMs: number | undefined;
}

/** Watched is the current state by which an allocation is judged. */
export interface Watched {
  readonly tasks: readonly WatchedTask[];
  readonly checks: readonly WatchedCheck[];
}

export interface Health {
  readonly healthy: boolean;
  /** The reasons by task if it is not healthy. */
  readonly because: Readonly<Record<string, string>>;
}

/** HealthWatcher is the allocation that is judged. */
export interface HealthWatcher {
  /** Returns the current state by which the allocation is judged. */
  watched(): Watched;
  /** Receives the decision. It is called once, unless the watch is stopped before. */
  decided(health: Health): void;
}

type Judgement =
  | { readonly kind: 'decided'; readonly health: Health }
  /** `atMs` is the time at which it becomes healthy if nothing changes; undefined if it cannot without a change. */
  | { readonly kind: 'open'; readonly atMs: number | undefined };

/**
 * Returns the terms for deciding the health of an allocation, or undefined if its health is not watched (AG-120,
 * AG-121).
 */
export function healthTermsOf(group: TaskGroup, jobType: string, inDeployment: boolean): HealthTerms | undefined {
  if (jobType !== 'service' && jobType !== 'system') return undefined;
  if (inDeployment) {
    const { Update } = group;
    if (!Update || Update.MaxParallel === 0 || Update.HealthCheck === 'manual') return undefined;
    return termsOf(Update);
  }
  const { Migrate } = group;
  return Migrate ? termsOf(Migrate) : DEFAULT_TERMS;
}

const termsOf = (said: Pick<MigrateStrategy, 'HealthCheck' | 'MinHealthyTime' | 'HealthyDeadline'>): HealthTerms => ({
  minHealthyTimeNs: said.MinHealthyTime,
  healthyDeadlineNs: said.HealthyDeadline,
  useChecks: said.HealthCheck === 'checks',
});

/**
 * HealthWatch decides once whether an allocation has started well (agent.md section 12).
 *
 * States: watching → decided (healthy or unhealthy, reported once) | stopped (nothing is reported). It evaluates tasks
 * and checks when one of them changes, when the latest of them is old enough, and at the deadline. The deadline counts
 * from the start of the watch. Polling twice a second is therefore unnecessary (AG-130). An allocation that is healthy
 * exactly at the deadline is healthy (AG-433). The timer defines the deadline, whatever the clock says: a timer may
 * fire a millisecond early, and a clock that was set back does not prolong it. It stops and restarts nothing (AG-131).
 * Cost of an evaluation: O(tasks and checks of the group). Two timers.
 */
export class HealthWatch {
  private isOver = false;
  private readonly deadlineMs: number;
  private readonly cancelDeadline: CancelTimer;
  private cancelRipe: CancelTimer = () => {};

  constructor(
    private readonly terms: HealthTerms,
    private readonly watcher: HealthWatcher,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {
    const forMs = msFromNs(terms.healthyDeadlineNs);
    this.deadlineMs = clock.nowMs() + forMs;
    this.cancelDeadline = timers.after(forMs, () => this.evaluateAt(Math.max(clock.nowMs(), this.deadlineMs)));
  }

  /** Evaluates the health after a change of a task, or after some time. */
  evaluateHealth(): void {
    this.evaluateAt(this.clock.nowMs());
  }

  private evaluateAt(nowMs: number): void {
    if (this.isOver) return;
    const watched = this.watcher.watched();
    const judgement = judgeHealth(watched, this.terms, nowMs);
    this.cancelRipe();
    if (judgement.kind === 'decided') this.decideHealth(judgement.health);
    else if (nowMs >= this.deadlineMs)
      this.decideHealth({ healthy: false, because: lateTaskReasons(watched, this.terms, nowMs) });
    else if (judgement.atMs !== undefined)
      this.cancelRipe = this.timers.after(judgement.atMs - nowMs, () => this.evaluateHealth());
  }

  /** Ends the watch. It reports nothing afterwards (AG-127). */
  stop(): void {
    this.isOver = true;
    this.cancelDeadline();
    this.cancelRipe();
  }

  private decideHealth(health: Health): void {
    this.stop();
    this.watcher.decided(health);
  }
}

/**
 * Judges the allocation unhealthy as soon as a task has failed or ended too early, and healthy when all needed tasks
 * have run, and all checks have passed, for the minimum time (AG-123 to AG-125, AG-132).
 */
function judgeHealth({ tasks, checks }: Watched, terms: HealthTerms, nowMs: number): Judgement {
  const counted = tasks.filter((task) => task.kind !== 'poststop');
  const failed = counted.filter((task) => task.state.Failed);
  const dead = counted.filter((task) => task.state.State === 'dead' && !task.state.Failed && !mayEnd(task));
  if (failed.length + dead.length > 0) {
    const because = [
      ...failed.map((task) => [task.name, 'Unhealthy because of failed task']),
      ...dead.map((task) => [task.name, 'Unhealthy because of dead task']),
    ];
    return { kind: 'decided', health: { healthy: false, because: Object.fromEntries(because) as Health['because'] } };
  }
  const needed = neededTasks(tasks);
  if (needed.some((task) => task.state.State !== 'running')) return { kind: 'open', atMs: undefined };
  const passing = terms.useChecks ? checks.map(({ passingSinceMs }) => passingSinceMs ?? Infinity) : [];
  const atMs = Math.max(...needed.map(startedMs), ...passing) + msFromNs(terms.minHealthyTimeNs);
  if (atMs === Infinity) return { kind: 'open', atMs: undefined };
  return nowMs >= atMs ? { kind: 'decided', health: { healthy: true, because: {} } } : { kind: 'open', atMs };
}

/**
 * Returns the reason for each task that is late at the deadline: its state or, if it runs long enough, its checks
 * (AG-128).
 */
function lateTaskReasons({ tasks, checks }: Watched, terms: HealthTerms, nowMs: number): Record<string, string> {
  const deadline = `healthy_deadline of ${formatDuration(terms.healthyDeadlineNs)}`;
  const because: Record<string, string> = {};
  for (const task of neededTasks(tasks)) {
    if (task.state.State !== 'running') because[task.name] = `Task not running by ${deadline}`;
    else if (nowMs - startedMs(task) < msFromNs(terms.minHealthyTimeNs))
      because[task.name] =
        `Task not running for min_healthy_time of ${formatDuration(terms.minHealthyTimeNs)} by ${deadline}`;
    else if (terms.useChecks) {
      const unwell = lateChecksReason(checks.filter((check) => check.task === '' || check.task === task.name));
      if (unwell) because[task.name] = unwell;
    }
  }
  return because;
}

/** Returns why the checks are late, or undefined if they are not the reason. */
function lateChecksReason(checks: readonly WatchedCheck[]): string | undefined {
  if (checks.length === 0) return undefined;
  const registered = checks.filter(({ status }) => status !== undefined);
  if (registered.length === 0) return 'Service checks not registered';
  const failing = registered.filter(({ status }) => status !== 'success').map(({ service }) => service);
  if (failing.length > 0) return `Services not healthy by deadline: ${[...new Set(failing)].join(', ')}`;
  if (registered.length === checks.length) return undefined;
  return `Only ${registered.length} out of ${checks.length} checks registered and passing`;
}

const neededTasks = (tasks: readonly WatchedTask[]): WatchedTask[] =>
  tasks.filter((task) => task.kind !== 'poststop' && !(mayEnd(task) && task.state.State === 'dead'));

/** Says whether a task is meant to end by itself. */
const mayEnd = ({ kind }: WatchedTask): boolean => kind === 'prestart' || kind === 'poststart';

const startedMs = ({ state }: WatchedTask): number => (state.StartedAt === null ? 0 : Date.parse(state.StartedAt));
