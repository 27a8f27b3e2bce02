import { errorText, nestedList, Refusal, type Task, type TaskGroup, type TaskState } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';
import { RestartTracker } from '../tasks/restart-tracker.js';
import { TaskContext } from '../tasks/task-context.js';
import { isSidecar, kindOf, restartsOnSuccess } from '../tasks/task-lifecycle.js';
import { ifRunning, TaskNotRunningError } from '../tasks/task-not-running.js';
import { NEW_STATE, type TaskRecord } from '../tasks/task-record.js';
import { TaskRunner } from '../tasks/task-runner.js';
import { WaitNotice } from '../waiting/wait-notice.js';
import type { AllocationContext } from './allocation-context.js';
import { AllocationNotRunnableError } from './allocation-job.js';
import type { WatchedTask } from './health-watch.js';

/**
 * SiblingKill is the reason why the live tasks of a group must end because of another one. Each of them gets the event.
 */
export interface SiblingKill {
  readonly type: string;
  readonly details: Readonly<Record<string, string>>;
}

/**
 * AllocationTasks handles the tasks of one allocation as a whole: which are live, which must end because of another, in
 * which order they end, and calls that concern all of them. Its only state besides the runners is the notice of a long
 * wait. Cost of every call: O(tasks of the group).
 */
export class AllocationTasks {
  private readonly runners: ReadonlyMap<string, TaskRunner>;
  private readonly notice: WaitNotice;

  /** @param restored the records by task name @throws AllocationNotRunnableError */
  constructor(context: AllocationContext, restored: Readonly<Record<string, TaskRecord>>) {
    const { agent, group } = context;
    this.runners = new Map(
      group.Tasks.map((task) => [task.Name, createTaskRunner(task, context, restored[task.Name])]),
    );
    this.notice = new WaitNotice(agent.timers, (message) => this.emitToLive('Task Setup', { message }));
  }

  get all(): TaskRunner[] {
    return [...this.runners.values()];
  }

  /** Returns the tasks that are not dead, without the poststop tasks. */
  get live(): TaskRunner[] {
    return this.all.filter(({ kind, isDead }) => kind !== 'poststop' && !isDead);
  }

  get areDead(): boolean {
    return this.all.every(({ isDead }) => isDead);
  }

  runner(name: string): TaskRunner | undefined {
    return this.runners.get(name);
  }

  states(): Record<string, TaskState> {
    return Object.fromEntries(this.all.map(({ task, state }) => [task.Name, state]));
  }

  records(): Record<string, TaskRecord> {
    return Object.fromEntries(this.all.map((runner) => [runner.task.Name, runner.record()]));
  }

  /** Returns the part of the tasks by which their health is judged. */
  watchedTasks(): WatchedTask[] {
    return this.all.map(({ task, kind, state }) => ({ name: task.Name, kind, state }));
  }

  /**
   * Notes what the tasks wait for before they may start; empty means nothing. After a long wait each task gets an
   * event, because pending tasks show nothing else.
   */
  setWaitReason(text: string): void {
    this.notice.setReason(this.areDead ? '' : text);
  }

  runTasks(): void {
    for (const runner of this.all) void runner.runTask();
  }

  /**
   * Resolves when no task is alive. It checks again, because a restart of all tasks may revive a task that has ended.
   */
  async untilDead(): Promise<void> {
    const runners = this.all;
    do await Promise.all(runners.map((runner) => runner.ended.opened));
    while (!runners.every((runner) => runner.ended.isOpen));
  }

  gatesMayHaveOpened(): void {
    for (const runner of this.all) runner.gateMayHaveOpened();
  }

  emitToLive(type: string, details: Readonly<Record<string, string>> = {}): void {
    for (const runner of this.live) runner.emit(type, details);
  }

  /** Applies new terms to tasks that continue (AG-115). */
  update(group: TaskGroup): void {
    for (const task of group.Tasks) this.runner(task.Name)?.update(task);
  }

  /** Returns why live tasks must end because of another one, or null if they need not (AG-84 to AG-88). */
  siblingKill(): SiblingKill | null {
    const counted = this.all.filter(({ kind }) => kind !== 'poststop');
    const { live } = this;
    if (live.length === 0 || live.length === counted.length) return null;
    const leader = counted.find(({ task, isDead, state }) => task.Leader && isDead && !state.Failed);
    if (leader) return { type: 'Leader Task Dead', details: {} };
    const failed = counted.find(({ isDead, state }) => isDead && state.Failed);
    if (failed) return { type: 'Sibling Task Failed', details: { failed_sibling: failed.task.Name } };
    return live.every(({ kind }) => isSidecar(kind)) ? { type: 'Main Tasks Dead', details: {} } : null;
  }

  /**
   * Kills the leader, then the other tasks together, then the sidecars together. Poststop tasks run after them
   * (AG-150).
   */
  async killInOrder(details: Record<string, string>): Promise<void> {
    const waves: ((runner: TaskRunner) => boolean)[] = [
      ({ task }) => task.Leader,
      ({ kind }) => !isSidecar(kind),
      ({ kind }) => isSidecar(kind),
    ];
    for (const wave of waves)
      await Promise.all(this.live.filter((runner) => wave(runner)).map((runner) => runner.kill(details)));
  }

  /** Fails all tasks, none of which will start any more (AG-81). */
  failSetup(reason: string): void {
    for (const runner of this.all) runner.failSetup(reason);
  }

  /** Kills all tasks at once, including poststop tasks. */
  async killAll(): Promise<void> {
    await Promise.all(this.all.map((runner) => runner.kill()));
  }

  async suspend(): Promise<void> {
    await Promise.all(this.all.map((runner) => runner.suspend()));
  }

  /** Restarts one task (AG-160). @throws Refusal, TaskNotRunningError */
  restart(name: string, reason: string): Promise<void> {
    const runner = this.runner(name);
    if (!runner) throw new Refusal('not-found', `Could not find task runner for task: ${name}`);
    return runner.restart(reason);
  }

  /** Restarts all running tasks (AG-161). */
  async restartRunning(reason: string): Promise<void> {
    await Promise.all(this.all.map((runner) => ifRunning(runner.restart(reason))));
  }

  /** Restarts all tasks except the poststop ones, from the beginning of the lifecycle (AG-162). */
  async restartFromBegin(reason: string): Promise<void> {
    const restarted = this.all.filter(({ kind }) => kind !== 'poststop');
    await Promise.all(restarted.map((runner) => runner.restartFromBegin(reason)));
  }

  /** Restarts one task, or all running tasks if the name is empty, and counts it as a failure (AG-147). */
  async restartUnhealthy(name: string, reason: string): Promise<void> {
    const runners = this.all.filter(({ task }) => name === '' || task.Name === name);
    await Promise.all(runners.map((runner) => ifRunning(runner.restart(reason, 'failure'))));
  }

  /** Signals one task, or all if the name is empty (AG-165). @throws Refusal, TaskNotRunningError, the driver's error */
  async signal(name: string, signal: string): Promise<void> {
    if (name !== '') {
      const runner = this.runner(name);
      if (!runner) throw new Refusal('not-found', 'Task not found');
      return runner.signal(signal);
    }
    const errors: string[] = [];
    for (const runner of this.all) {
      await runner.signal(signal).catch((error: unknown) => {
        const why = errorText(error);
        errors.push(`Failed to signal task: ${runner.task.Name}, err: ${why}`);
      });
    }
    if (errors.length > 0) throw new Refusal('conflict', nestedList(errors));
  }

  /** Runs a command beside a running task (AG-324). @throws Refusal, NoExecError, the driver's error */
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

  /** Returns the usage of its running tasks, or of one of them (AG-330). */
  async usage(name: string): Promise<Record<string, TaskResourceUsage>> {
    const tasks: Record<string, TaskResourceUsage> = {};
    await Promise.all(
      [...this.runners].map(async ([task, runner]) => {
        const usage = name === '' || task === name ? await runner.usage() : undefined;
        if (usage) tasks[task] = usage;
      }),
    );
    return tasks;
  }

  /**
   * Returns the time since which a task has offered its services; with an empty name the latest time of all tasks that
   * do. Undefined if none does.
   */
  upSinceMs(name: string): number | undefined {
    const starts = this.all
      .filter(({ task, isOffering }) => (name === '' || task.Name === name) && isOffering)
      .map(({ state }) => Date.parse(state.StartedAt ?? ''));
    return starts.length === 0 ? undefined : Math.max(...starts);
  }
}

/**
 * Makes the runner of a task.
 * @param restored the task's record of an earlier agent
 * @throws AllocationNotRunnableError if this machine lacks its driver
 */
function createTaskRunner(task: Task, allocation: AllocationContext, restored?: TaskRecord): TaskRunner {
  const { drivers, clock, random } = allocation.agent;
  const driver = drivers.get(task.Driver);
  if (!driver)
    throw new AllocationNotRunnableError(`failed to create task runner: task driver "${task.Driver}" is not known`);
  const kind = kindOf(task);
  const restarts = new RestartTracker(task.RestartPolicy, restartsOnSuccess(kind, allocation.job.Type), clock, random);
  const state = restored?.state ?? NEW_STATE;
  return new TaskRunner(new TaskContext({ task, allocation, kind, driver, restarts, state }), restored);
}
