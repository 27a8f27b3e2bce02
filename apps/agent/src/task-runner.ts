import {
  appendTaskEvent,
  formatDuration,
  msFromNs,
  newTaskEvent,
  nsFromMs,
  rfc3339FromMs,
  type Task,
  type TaskEvent,
  type TaskState,
} from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import {
  type DriverNetwork,
  type ExitResult,
  StartError,
  type TaskConfig,
  TaskConfigError,
  type TaskHandle,
  TaskNotFoundError,
} from './drivers/driver.js';
import type { ExecCommand, ExecSession } from './exec/exec-session.js';
import { Gate } from './gate.js';
import { HookError } from './hooks/task-hook.js';
import { type RestartTracker, type RoundEnd } from './restart-tracker.js';
import { stopByDriver } from './stop-by-driver.js';
import { TaskCommands } from './task-commands.js';
import type { TaskHost } from './task-host.js';
import { NEW_STATE, type TaskRecord } from './task-record.js';

/** AG-155: a task's own `kill_timeout` is cut to this. */
export const MAX_KILL_TIMEOUT_MS = 30_000;

/** AG-160, AG-165: what was asked for needs a task that runs. */
export class TaskNotRunningError extends Error {
  override readonly name = 'TaskNotRunningError';
  constructor() {
    super('Task not running');
  }
}

/**
 * One task of one allocation, from its first event to its end (agent.md section 11).
 *
 * pending  waiting for its gate → preparing → starting, or waiting out a restart delay
 * running  the driver has started it and waits for its exit
 * dead     for good, unless the whole allocation is restarted; a runner that was restored dead does nothing
 *
 * pending → running: the driver started it. running → pending: it ended and the policy starts it again; by request without
 * delay, and the policy does not count it; because of a check as a failure. pending → dead: killed before it ran,
 * configuration or start failed for good. running → dead: killed, done, or failed by policy. dead → pending: a restart of
 * the whole allocation (AG-7), unless the task was killed. A kill is taken at any moment: it ends every wait, and a start
 * that is under way is stopped as soon as it has happened (AG-410). Recovered: running without a new start, or pending until
 * the servers were asked. suspended: the agent put it down on its own way out; no state changes any more.
 *
 * Its handle is on disk before the driver is asked to start (AG-440). Limits: MAX_TASK_EVENTS, MAX_KILL_TIMEOUT_MS,
 * MAX_STOP_ATTEMPTS. Cost: nothing while it waits.
 */
export class TaskRunner {
  /** Open when the task is dead or suspended; another gate after a revival. */
  ended = new Gate();
  readonly restarts: RestartTracker;
  private current: TaskState;
  private handle: TaskHandle | null;
  private suspended: boolean;
  private readonly killing = new Gate();
  private readonly killed = new AbortController();
  private readonly leaving = new Gate();
  private gateMoved = new Gate();
  private isUp = false;
  /** As it was started; null: by an earlier agent. */
  private config: TaskConfig | null = null;
  private readonly commands: TaskCommands;
  /** Open when the restart that was asked for has put the task down, and the next start is on its way. */
  private restarting: { readonly done: Gate; readonly isFailure: boolean } | null = null;
  /** The start that is under way or was the last: it cannot be called off, only waited for. */
  private starting: Promise<unknown> = Promise.resolve();

  constructor(
    public task: Task,
    private readonly deps: TaskHost,
    restored?: TaskRecord,
  ) {
    this.restarts = deps.restarts;
    this.commands = new TaskCommands(deps);
    this.current = restored?.state ?? NEW_STATE;
    this.handle = restored?.handle ?? null;
    this.suspended = restored?.suspended ?? false;
    if (this.current.State === 'dead') this.ended.open();
    void this.killing.opened.then(() => this.killed.abort());
  }

  /** Immutable; a change replaces it (AG-423). */
  get state(): TaskState {
    return this.current;
  }

  get isDead(): boolean {
    return this.current.State === 'dead';
  }

  /** It runs, and is not on its way down: its services may be used (AG-142). */
  get isOffering(): boolean {
    return this.isRunning && this.restarting === null;
  }

  /** Of its own, that the driver has given it. */
  get network(): DriverNetwork | null {
    return this.handle && this.isUp ? (this.deps.driver.network?.(this.handle.taskId) ?? null) : null;
  }

  record(): TaskRecord {
    return { state: this.current, handle: this.handle, suspended: this.suspended };
  }

  /** Runs until the task is dead or suspended; never rejects. */
  async run(): Promise<void> {
    if (this.isDead) return;
    const { ended } = this;
    try {
      let attached = await this.recover();
      if (this.current.Events.length === 0) this.emit('Received');
      for (let again = true; again;) {
        const over = new AbortController();
        if (attached && this.handle) void this.deps.attach(this.handle.taskId, this.killed.signal, over.signal);
        const end = attached ? await this.untilExit() : await this.round(over.signal);
        over.abort();
        attached = false;
        again = await this.settle(end);
      }
    } catch (error) {
      this.deps.logger.error('a task runner failed', { alloc: this.deps.allocId, task: this.task.Name, error });
      this.emit('Setup Failure', { setup_error: textOf(error), fails_task: 'true' });
      this.die();
    } finally {
      ended.open();
    }
  }

  /** The lifecycle moved: look at the gate again. */
  gateMayHaveOpened(): void {
    this.gateMoved.open();
  }

  /** An event that something outside of the task caused. */
  emit(type: string, details: Record<string, string> = {}, change: Partial<TaskState> = {}): void {
    if (this.leaving.isOpen) return;
    const event: TaskEvent = newTaskEvent(type, nsFromMs(this.deps.clock.nowMs()), details);
    const failed = this.current.Failed || details['fails_task'] === 'true';
    this.current = {
      ...this.current,
      ...change,
      Failed: failed,
      Events: appendTaskEvent(this.current.Events, event),
    };
    this.deps.changed();
  }

  /** Ends the task (AG-151 to AG-158); resolves when it is dead. One that is dead gets no event. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    if (!this.isDead && !this.killing.isOpen && !this.leaving.isOpen) {
      this.tellKill(details);
      if (this.isUp) void this.putDown();
    }
    await this.ended.opened;
  }

  /** AG-81: what all tasks of its allocation need cannot be had. */
  failSetup(reason: string): void {
    if (this.isDead || this.killing.isOpen) return;
    this.emit('Setup Failure', { setup_error: reason, fails_task: 'true' });
    this.killing.open();
    if (this.isUp) void this.putDown();
  }

  /**
   * Puts the task down and starts it again: as a request at once and uncounted by its policy (AG-160), as a failure by
   * its policy (AG-114). Resolves when the old process has ended and the start is triggered, or the task ended otherwise
   * (AG-166). One more while one is under way joins it.
   * @throws TaskNotRunningError
   */
  async restart(reason: string, as: 'request' | 'failure' = 'request'): Promise<void> {
    const { handle } = this;
    if (!handle || !this.isRunning) throw new TaskNotRunningError();
    if (!this.restarting) {
      this.restarting = { done: new Gate(), isFailure: as === 'failure' };
      this.emit('Restart Signaled', { restart_reason: reason });
      void this.deps.withdraw().then(() => this.stopByDriver(handle));
    }
    await Promise.race([this.restarting.done.opened, this.ended.opened]);
  }

  /** AG-162: the whole allocation starts again. A task that runs is restarted, one that ended gets another life. */
  async restartFromBegin(reason: string): Promise<void> {
    if (this.isRunning) return this.restart(reason);
    if (this.killing.isOpen || this.leaving.isOpen) return;
    this.emit('Restart Signaled', { restart_reason: reason });
    if (!this.isDead) return; // it waits for its gate or its delay, and starts then
    this.ended = new Gate();
    const again = { State: 'pending', FinishedAt: null, ...this.oneMoreRestart() } as const;
    this.current = { ...this.current, Failed: false };
    this.emit('Restarting', { start_delay: '0', restart_reason: '' }, again);
    void this.run();
  }

  /** @throws TaskNotRunningError, or what the driver says (AG-165) */
  async signal(signal: string, details: Record<string, string> = { signal }): Promise<void> {
    const { handle } = this;
    if (!handle || !this.isRunning) throw new TaskNotRunningError();
    this.emit('Signaling', details);
    await this.deps.driver.signal(handle.taskId, signal);
  }

  /** Runs a command beside the task; it ends with the task. @throws TaskNotRunningError, NoExecError, the driver's error */
  async exec(command: ExecCommand): Promise<ExecSession> {
    const { handle } = this;
    if (!handle || !this.isUp) throw new TaskNotRunningError();
    const session = await this.commands.run(command, handle, this.config);
    if (!this.isUp) await session.kill();
    return session;
  }

  /** What it uses now; undefined when it does not run (AG-330). */
  async usage(): Promise<TaskResourceUsage | undefined> {
    const { handle } = this;
    if (!handle || !this.isUp) return undefined;
    return this.deps.driver.stats(handle.taskId).catch((error: unknown) => {
      if (error instanceof TaskNotFoundError) return undefined; // it ended meanwhile
      throw error;
    });
  }

  /**
   * Puts the task down because the agent ends and tasks must not outlive it. Not an end of the task: nothing is
   * reported, and the next agent runs it again (unless the servers no longer want it).
   */
  async suspend(): Promise<void> {
    if (this.isDead) return;
    this.leaving.open();
    this.killing.open();
    await this.starting;
    const { handle } = this;
    if (handle && this.isUp) await this.stopByDriver(handle);
    if (handle) await this.deps.driver.destroy(handle, true);
    this.handle = null;
    this.suspended = true;
    if (this.current.State === 'running') this.current = { ...this.current, State: 'pending' };
    this.ended.open();
    await this.deps.save();
  }

  /** True when a task of an earlier agent was taken up (AG-193, AG-194). */
  private async recover(): Promise<boolean> {
    const { handle } = this;
    if (handle) {
      if (this.current.State === 'running' && (await this.deps.driver.recover(handle))) {
        this.isUp = true;
        if (this.killing.isOpen) void this.putDown();
        return true;
      }
      await this.deps.driver.destroy(handle, true).catch((error: unknown) => {
        this.deps.logger.warn('what is left of a task cannot be removed', { task: this.task.Name, error });
      });
      this.handle = null;
    }
    if (this.current.State === 'running' && this.deps.asksAfterLoss) {
      this.suspended = true;
      const message = 'failed to restore task; will not run until server is contacted';
      this.emit('Failed Restoring Task', { message }, { State: 'pending' });
    } else if (this.current.State === 'running') this.current = { ...this.current, State: 'pending' };
    if (this.suspended) {
      await Promise.race([this.deps.serversAsked.opened, this.killing.opened]);
      this.suspended = false;
    }
    return false;
  }

  /** From the gate to the exit. */
  private async round(over: AbortSignal): Promise<RoundEnd> {
    await this.untilGate();
    if (this.isOver()) return { kind: 'killed' };
    let config: TaskConfig;
    try {
      config = await this.deps.configure(`${this.deps.allocId}/${this.task.Name}/${this.deps.newId().slice(0, 8)}`);
    } catch (error) {
      this.emit('Task hook failed', { message: `task_dir: ${textOf(error)}` });
      return { kind: 'start-error', recoverable: false };
    }
    if (this.current.StartedAt === null && this.current.Restarts === 0)
      this.emit('Task Setup', { message: 'Building Task Directory' });
    try {
      this.deps.driver.validate(config);
    } catch (error) {
      if (!(error instanceof TaskConfigError)) throw error;
      this.emit('Failed Validation', { validation_error: error.message, fails_task: 'true' });
      return { kind: 'start-error', recoverable: false };
    }
    const ready = await this.prestart(config, over);
    if ('kind' in ready) return ready;
    if (this.isOver()) return { kind: 'killed' };
    const started = this.start(ready);
    this.starting = started.catch(() => undefined); // whoever awaits the start itself hears of it
    return (await started) ?? this.untilExit();
  }

  /** A kill ends it at once. */
  private async prestart(config: TaskConfig, over: AbortSignal): Promise<TaskConfig | RoundEnd> {
    try {
      return await this.deps.prestart(config, this.killed.signal, over);
    } catch (error) {
      if (!(error instanceof HookError)) throw error;
      this.emit(error.event.type, error.event.details);
      return { kind: 'start-error', recoverable: error.recoverable };
    }
  }

  private async start(config: TaskConfig): Promise<RoundEnd | undefined> {
    this.config = config;
    const handle = this.deps.driver.prepare(config);
    this.handle = handle;
    await this.deps.save();
    if (this.isOver()) return { kind: 'killed' };
    try {
      await this.deps.driver.start(config, handle);
    } catch (error) {
      this.emit('Driver Failure', { driver_error: textOf(error) });
      await this.forget(handle);
      return { kind: 'start-error', recoverable: error instanceof StartError && error.recoverable };
    }
    this.isUp = true;
    this.emit('Started', {}, { State: 'running', StartedAt: rfc3339FromMs(this.deps.clock.nowMs()) });
    if (this.killing.isOpen && !this.leaving.isOpen) void this.putDown();
    return undefined;
  }

  private async untilExit(): Promise<RoundEnd> {
    const { handle } = this;
    if (!handle) return { kind: 'killed' };
    const result = await this.deps.driver.wait(handle.taskId);
    this.isUp = false;
    this.commands.end();
    this.emit('Terminated', detailsOf(result));
    if (this.leaving.isOpen) return { kind: 'killed' };
    await this.forget(handle);
    if (!this.killing.isOpen && this.restarting)
      return { kind: this.restarting.isFailure ? 'unhealthy' : 'restart-requested' };
    if (!this.killing.isOpen) return { kind: 'exit', result };
    this.emit('Killed');
    return { kind: 'killed' };
  }

  /** True: once more. */
  private async settle(end: RoundEnd): Promise<boolean> {
    const { restarting } = this;
    this.restarting = null;
    const decision = this.restarts.decide(this.killing.isOpen ? { kind: 'killed' } : end);
    switch (decision.kind) {
      case 'killed':
        this.tellKill(); // it found itself unwanted before anybody came to kill it
        this.die();
        return false;
      case 'done':
        this.die();
        return false;
      case 'failed':
        this.emit('Not Restarting', { restart_reason: decision.reason, fails_task: 'true' }, this.deadNow());
        return false;
      case 'restart':
        this.emit(
          'Restarting',
          { start_delay: String(nsFromMs(decision.delayMs)), restart_reason: decision.reason },
          { State: 'pending', ...this.oneMoreRestart() },
        );
        restarting?.done.open();
        await this.pause(decision.delayMs, this.killing);
        if (!this.killing.isOpen) return true;
        this.die();
        return false;
    }
  }

  private async untilGate(): Promise<void> {
    while (!this.isOver() && !this.deps.mayStart()) {
      this.gateMoved = new Gate();
      await Promise.race([this.gateMoved.opened, this.killing.opened]);
    }
  }

  /** Up, and neither on its way down nor just ended. */
  private get isRunning(): boolean {
    return this.isUp && this.current.State === 'running' && !this.killing.isOpen;
  }

  private oneMoreRestart(): Pick<TaskState, 'Restarts' | 'LastRestart'> {
    return { Restarts: this.current.Restarts + 1, LastRestart: rfc3339FromMs(this.deps.clock.nowMs()) };
  }

  private isOver(): boolean {
    return this.killing.isOpen || !this.deps.isWanted();
  }

  /** The way down of a running task: its services, its delay, then the driver's stop (AG-152 to AG-154). */
  private async putDown(): Promise<void> {
    const { handle } = this;
    if (!handle) return;
    await this.deps.withdraw();
    const delayMs = msFromNs(this.task.ShutdownDelay);
    if (delayMs > 0 && this.isUp) {
      const { delaysSkipped } = this.deps;
      const [type, doing] = delaysSkipped.isOpen
        ? (['Skipping shutdown delay', 'Skipping'] as const)
        : (['Waiting for shutdown delay', 'Waiting for'] as const);
      const message = `${doing} shutdown_delay of ${formatDuration(this.task.ShutdownDelay)} before killing the task.`;
      this.emit(type, { message });
      if (!delaysSkipped.isOpen) await this.pause(delayMs, this.ended, delaysSkipped);
    }
    if (this.isUp) await this.stopByDriver(handle);
  }

  private stopByDriver(handle: TaskHandle): Promise<void> {
    const pause = (ms: number): Promise<void> => this.pause(ms, this.ended);
    return stopByDriver(this.deps, handle, this.task, this.killTimeoutMs(), () => this.isUp, pause);
  }

  private async forget(handle: TaskHandle): Promise<void> {
    this.handle = null;
    try {
      await this.deps.driver.destroy(handle, false);
    } catch (error) {
      this.deps.logger.warn('what is left of a task cannot be removed', { task: this.task.Name, error });
    }
  }

  /** Once. */
  private tellKill(details: Record<string, string> = {}): void {
    if (this.killing.isOpen) return;
    this.emit('Killing', { kill_timeout: formatDuration(nsFromMs(this.killTimeoutMs())), ...details });
    this.killing.open();
  }

  private killTimeoutMs(): number {
    return Math.min(msFromNs(this.task.KillTimeout), MAX_KILL_TIMEOUT_MS);
  }

  private die(): void {
    if (this.leaving.isOpen || this.isDead) return;
    this.current = { ...this.current, ...this.deadNow() };
    this.deps.changed();
  }

  private deadNow(): Pick<TaskState, 'State' | 'FinishedAt'> {
    return { State: 'dead', FinishedAt: this.current.FinishedAt ?? rfc3339FromMs(this.deps.clock.nowMs()) };
  }

  private pause(ms: number, ...unless: Gate[]): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.deps.timers.after(ms, resolve);
      void Promise.race(unless.map((gate) => gate.opened)).then(() => {
        cancel();
        resolve();
      });
    });
  }
}

function detailsOf(result: ExitResult): Record<string, string> {
  return {
    exit_code: String(result.ExitCode),
    signal: String(result.Signal),
    oom_killed: String(result.OOMKilled),
    ...(result.Err !== '' && { exit_message: result.Err }),
  };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
