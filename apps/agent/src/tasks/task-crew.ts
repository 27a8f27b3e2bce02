import { nestedList, type Task, type TaskGroup, type TaskState, errorText, Refusal } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { ExecCommand, ExecSession } from './exec/exec-session.js';
import { isSidecar, type kindOf } from './task-lifecycle.js';
import type { TaskRecord } from './task-record.js';
import { TaskNotRunningError, type TaskRunner } from './task-runner.js';

/** One task of the group, with its place in the lifecycle. */
export interface Member {
  readonly runner: TaskRunner;
  readonly kind: ReturnType<typeof kindOf>;
}

/** Why those of a group that live have to go: the event that each of them gets. */
export interface Departure {
  readonly type: string;
  readonly details: Readonly<Record<string, string>>;
}

/**
 * The tasks of one allocation as a whole: who lives, who has to go because of another, in which order they go, and what
 * is done to all of them. Has no state of its own beside its members'. Cost of everything: O(tasks of the group).
 */
export class TaskCrew {
  private readonly members: ReadonlyMap<string, Member>;

  constructor(group: TaskGroup, recruit: (task: Task) => Member) {
    this.members = new Map(group.Tasks.map((task) => [task.Name, recruit(task)]));
  }

  get all(): Member[] {
    return [...this.members.values()];
  }

  /** Tasks that are not dead, without those that run after all others. */
  get live(): Member[] {
    return this.all.filter(({ kind, runner }) => kind !== 'poststop' && !runner.isDead);
  }

  get isDead(): boolean {
    return this.all.every(({ runner }) => runner.isDead);
  }

  runner(name: string): TaskRunner | undefined {
    return this.members.get(name)?.runner;
  }

  states(): Record<string, TaskState> {
    return Object.fromEntries(this.all.map(({ runner }) => [runner.task.Name, runner.state]));
  }

  records(): Record<string, TaskRecord> {
    return Object.fromEntries(this.all.map(({ runner }) => [runner.task.Name, runner.record()]));
  }

  run(): void {
    for (const { runner } of this.all) void runner.run();
  }

  /** Resolves when no task lives; one that ended may be revived by a restart of all while others live. */
  async untilDead(): Promise<void> {
    const runners = this.all.map(({ runner }) => runner);
    do await Promise.all(runners.map((runner) => runner.ended.opened));
    while (!runners.every((runner) => runner.ended.isOpen));
  }

  gatesMayHaveOpened(): void {
    for (const { runner } of this.all) runner.gateMayHaveOpened();
  }

  emitToLive(type: string, details: Readonly<Record<string, string>> = {}): void {
    for (const { runner } of this.live) runner.emit(type, details);
  }

  /** AG-115: an update in place never restarts a task; it gives it new terms. */
  takeOver(group: TaskGroup | undefined): void {
    for (const task of group?.Tasks ?? []) {
      const runner = this.runner(task.Name);
      if (!runner) continue;
      runner.task = task;
      runner.restarts.policy = task.RestartPolicy;
    }
  }

  /** AG-84 to AG-88: null when nobody has to go because of another. */
  departure(): Departure | null {
    const members = this.all.filter(({ kind }) => kind !== 'poststop');
    const { live } = this;
    if (live.length === 0 || live.length === members.length) return null;
    const leader = members.find(({ runner }) => runner.task.Leader && runner.isDead && !runner.state.Failed);
    if (leader) return { type: 'Leader Task Dead', details: {} };
    const failed = members.find(({ runner }) => runner.isDead && runner.state.Failed);
    if (failed) return { type: 'Sibling Task Failed', details: { failed_sibling: failed.runner.task.Name } };
    return live.every(({ kind }) => isSidecar(kind)) ? { type: 'Main Tasks Dead', details: {} } : null;
  }

  /** AG-150: the leader, the others together, the sidecars together; poststop tasks run after them. */
  async killInOrder(details: Record<string, string>): Promise<void> {
    const waves: ((member: Member) => boolean)[] = [
      ({ runner }) => runner.task.Leader,
      ({ kind }) => !isSidecar(kind),
      ({ kind }) => isSidecar(kind),
    ];
    for (const wave of waves)
      await Promise.all(this.live.filter((member) => wave(member)).map(({ runner }) => runner.kill(details)));
  }

  /** AG-81: of all tasks, none of which will start any more. */
  failSetup(reason: string): void {
    for (const { runner } of this.all) runner.failSetup(reason);
  }

  /** Poststop tasks too, at once. */
  async killAll(): Promise<void> {
    await Promise.all(this.all.map(({ runner }) => runner.kill()));
  }

  async suspend(): Promise<void> {
    await Promise.all(this.all.map(({ runner }) => runner.suspend()));
  }

  /** AG-160. @throws Refusal, TaskNotRunningError */
  restart(name: string, reason: string): Promise<void> {
    const runner = this.runner(name);
    if (!runner) throw new Refusal('not-found', `Could not find task runner for task: ${name}`);
    return runner.restart(reason);
  }

  /** AG-161: tasks that do not run are left alone. */
  async restartRunning(reason: string): Promise<void> {
    await Promise.all(this.all.map(({ runner }) => ifRunning(runner.restart(reason))));
  }

  /** AG-162. */
  async restartFromBegin(reason: string): Promise<void> {
    const restarted = this.all.filter(({ kind }) => kind !== 'poststop');
    await Promise.all(restarted.map(({ runner }) => runner.restartFromBegin(reason)));
  }

  /** AG-147: a failure of one task, or with an empty name of all that run. */
  async restartUnhealthy(name: string, reason: string): Promise<void> {
    const runners = this.all.map(({ runner }) => runner).filter(({ task }) => name === '' || task.Name === name);
    await Promise.all(runners.map((runner) => ifRunning(runner.restart(reason, 'failure'))));
  }

  /** AG-165: to one task, or with an empty name to all. @throws Refusal, TaskNotRunningError, the driver's error */
  async signal(name: string, signal: string): Promise<void> {
    if (name !== '') {
      const runner = this.runner(name);
      if (!runner) throw new Refusal('not-found', 'Task not found');
      return runner.signal(signal);
    }
    const errors: string[] = [];
    for (const { runner } of this.all) {
      await runner.signal(signal).catch((error: unknown) => {
        const why = errorText(error);
        errors.push(`Failed to signal task: ${runner.task.Name}, err: ${why}`);
      });
    }
    if (errors.length > 0) throw new Refusal('conflict', nestedList(errors));
  }

  /** AG-324. @throws Refusal, NoExecError, what the driver says */
  async exec(name: string, command: ExecCommand): Promise<ExecSession> {
    const runner = this.runner(name);
    if (!runner) throw new Refusal('not-found', `unknown task name "${name}"`);
    const { State, StartedAt } = runner.state;
    if (State === 'pending' && StartedAt === null) throw new Refusal('conflict', `task "${name}" not started yet.`);
    try {
      return await runner.exec(command);
    } catch (error) {
      if (error instanceof TaskNotRunningError) throw new Refusal('conflict', `task "${name}" is not running.`);
      throw error;
    }
  }

  /** What its running tasks use, or one of them (AG-330). */
  async usage(name: string): Promise<Record<string, TaskResourceUsage>> {
    const tasks: Record<string, TaskResourceUsage> = {};
    await Promise.all(
      [...this.members].map(async ([task, { runner }]) => {
        const usage = name === '' || task === name ? await runner.usage() : undefined;
        if (usage) tasks[task] = usage;
      }),
    );
    return tasks;
  }

  /** Since when a task offers its services, or with an empty name the latest of all that do; undefined: none does. */
  upSinceMs(name: string): number | undefined {
    const starts = this.all
      .filter(({ runner }) => (name === '' || runner.task.Name === name) && runner.isOffering)
      .map(({ runner }) => Date.parse(runner.state.StartedAt ?? ''));
    return starts.length === 0 ? undefined : Math.max(...starts);
  }
}

async function ifRunning(restart: Promise<void>): Promise<void> {
  try {
    await restart;
  } catch (error) {
    if (!(error instanceof TaskNotRunningError)) throw error;
  }
}
