import {
  type CancelTimer,
  type Clock,
  formatDuration,
  msFromNs,
  type TaskGroup,
  type TaskState,
  type Timers,
} from '@waybill/model';
import type { TaskKind } from './task-lifecycle.js';

/** ns, as the job says them: they are shown to people. */
export interface HealthTerms {
  readonly minHealthyTimeNs: number;
  readonly healthyDeadlineNs: number;
}

const DEFAULT_TERMS: HealthTerms = { minHealthyTimeNs: 10e9, healthyDeadlineNs: 300e9 };

export interface WatchedTask {
  readonly name: string;
  readonly kind: TaskKind;
  readonly state: Pick<TaskState, 'State' | 'Failed' | 'StartedAt'>;
}

export interface Health {
  readonly healthy: boolean;
  /** Why not, by task. */
  readonly because: Readonly<Record<string, string>>;
}

type Judgement =
  | { readonly kind: 'decided'; readonly health: Health }
  /** `atMs`: when it will be healthy if nothing changes; undefined: as it stands never. */
  | { readonly kind: 'open'; readonly atMs: number | undefined };

/** AG-120, AG-121: by what an allocation is judged; undefined: nobody watches it. */
export function healthTermsOf(group: TaskGroup, jobType: string, inDeployment: boolean): HealthTerms | undefined {
  if (jobType !== 'service' && jobType !== 'system') return undefined;
  if (inDeployment) {
    const { Update } = group;
    if (!Update || Update.MaxParallel === 0 || Update.HealthCheck === 'manual') return undefined;
    return { minHealthyTimeNs: Update.MinHealthyTime, healthyDeadlineNs: Update.HealthyDeadline };
  }
  const { Migrate } = group;
  return Migrate
    ? { minHealthyTimeNs: Migrate.MinHealthyTime, healthyDeadlineNs: Migrate.HealthyDeadline }
    : DEFAULT_TERMS;
}

/**
 * Judges once whether an allocation has come up well (agent.md section 12).
 *
 * watching → decided (healthy or unhealthy, told once) | stopped (nothing is told). The tasks are looked at whenever one
 * of them changed, when the last start is old enough, and at the deadline, which counts from the start of the watch.
 * In the instant of the deadline an allocation that is healthy is so (AG-433). It stops and restarts nothing (AG-131).
 * Checks of services are not looked at: there is no provider yet, and without checks task states decide (AG-124).
 * Cost of a look: O(tasks of the group); two timers.
 */
export class HealthWatch {
  private isOver = false;
  private readonly deadlineMs: number;
  private readonly cancelDeadline: CancelTimer;
  private cancelRipe: CancelTimer = () => {};

  constructor(
    private readonly terms: HealthTerms,
    private readonly tasks: () => readonly WatchedTask[],
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly decided: (health: Health) => void,
  ) {
    const forMs = msFromNs(terms.healthyDeadlineNs);
    this.deadlineMs = clock.nowMs() + forMs;
    this.cancelDeadline = timers.after(forMs, () => this.look());
  }

  /** A task changed, or time has passed. */
  look(): void {
    if (this.isOver) return;
    const nowMs = this.clock.nowMs();
    const tasks = this.tasks();
    const judgement = judge(tasks, this.terms, nowMs);
    this.cancelRipe();
    if (judgement.kind === 'decided') this.decide(judgement.health);
    else if (nowMs >= this.deadlineMs) this.decide({ healthy: false, because: lateTasks(tasks, this.terms, nowMs) });
    else if (judgement.atMs !== undefined)
      this.cancelRipe = this.timers.after(judgement.atMs - nowMs, () => this.look());
  }

  /** AG-127: nothing is told any more. */
  stop(): void {
    this.isOver = true;
    this.cancelDeadline();
    this.cancelRipe();
  }

  private decide(health: Health): void {
    this.stop();
    this.decided(health);
  }
}

/** AG-123, AG-125, AG-132. */
function judge(tasks: readonly WatchedTask[], terms: HealthTerms, nowMs: number): Judgement {
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
  const atMs = Math.max(...needed.map(startedMs)) + msFromNs(terms.minHealthyTimeNs);
  return nowMs >= atMs ? { kind: 'decided', health: { healthy: true, because: {} } } : { kind: 'open', atMs };
}

/** AG-128: what the deadline found each task doing. */
function lateTasks(tasks: readonly WatchedTask[], terms: HealthTerms, nowMs: number): Record<string, string> {
  const deadline = `healthy_deadline of ${formatDuration(terms.healthyDeadlineNs)}`;
  const because: Record<string, string> = {};
  for (const task of neededTasks(tasks)) {
    if (task.state.State !== 'running') because[task.name] = `Task not running by ${deadline}`;
    else if (nowMs - startedMs(task) < msFromNs(terms.minHealthyTimeNs))
      because[task.name] =
        `Task not running for min_healthy_time of ${formatDuration(terms.minHealthyTimeNs)} by ${deadline}`;
  }
  return because;
}

const neededTasks = (tasks: readonly WatchedTask[]): WatchedTask[] =>
  tasks.filter((task) => task.kind !== 'poststop' && !(mayEnd(task) && task.state.State === 'dead'));

/** Those that do their work and end. */
const mayEnd = ({ kind }: WatchedTask): boolean => kind === 'prestart' || kind === 'poststart';

const startedMs = ({ state }: WatchedTask): number => (state.StartedAt === null ? 0 : Date.parse(state.StartedAt));
