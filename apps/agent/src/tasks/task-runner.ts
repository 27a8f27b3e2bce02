import { type ChangeScript, errorText, type Task, type TaskState } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import { type DriverNetwork, type ExitResult, StartError, type TaskConfig } from '../drivers/driver.js';
import { firstOpened, Gate, pause } from '../waiting/gate.js';
import type { ExecCommand, ExecSession } from './exec/exec-session.js';
import type { TaskControl } from './task-hook.js';
import type { RoundEnd } from './restart-tracker.js';
import type { TaskContext } from './task-context.js';
import type { TaskKind } from './task-lifecycle.js';
import { TaskNotRunningError } from './task-not-running.js';
import type { TaskRound } from './task-preparation.js';
import { TaskPrestart } from './task-prestart.js';
import { TaskProcess } from './task-process.js';
import type { TaskRecord } from './task-record.js';
import { TaskStopper } from './task-stopper.js';
import { runScript } from './templates/change-script.js';

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
 * What runs of it is in task-process.ts; its handle is on disk before the driver is asked to start (AG-440).
 * Limits: MAX_TASK_EVENTS, maxKillTimeoutMs, MAX_STOP_ATTEMPTS. Cost: nothing while it waits.
 */
export class TaskRunner implements TaskControl {
  private readonly process: TaskProcess;
  private readonly stopper: TaskStopper;
  private readonly prestart: TaskPrestart;
  private suspended: boolean;
  /** How the process ended, until it is decided what comes of that; null: it has not ended. */
  private exit: ExitResult | null;
  private readonly killed = new AbortController();
  private gateMoved = new Gate();
  /** Open when the restart that was asked for has put the task down, and the next start is on its way. */
  private restarting: { readonly done: Gate; readonly isFailure: boolean } | null = null;
  /** The start that is under way or was the last: it cannot be called off, only waited for. */
  private starting: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly context: TaskContext,
    restored?: Pick<TaskRecord, 'handle' | 'exit' | 'suspended'>,
  ) {
    this.process = new TaskProcess(context, restored?.handle ?? null);
    this.exit = restored?.exit ?? null;
    this.stopper = new TaskStopper(context, this.process);
    this.prestart = new TaskPrestart(context);
    this.suspended = restored?.suspended ?? false;
    if (this.isDead) this.ended.open();
    void context.killing.opened.then(() => this.killed.abort());
  }

  get task(): Task {
    return this.context.task;
  }

  get kind(): TaskKind {
    return this.context.kind;
  }

  /** Open when the task is dead or suspended; another gate after a revival. */
  get ended(): Gate {
    return this.context.ended;
  }

  /** Immutable; a change replaces it (AG-423). */
  get state(): TaskState {
    return this.context.state;
  }

  get isDead(): boolean {
    return this.context.isDead;
  }

  /** It runs, and is not on its way down: its services may be used (AG-142). */
  get isOffering(): boolean {
    return this.isRunning && this.restarting === null;
  }

  /** Of its own, that the driver has given it. */
  get network(): DriverNetwork | null {
    return this.process.network;
  }

  record(): TaskRecord {
    const { state, exit, suspended } = this;
    return { state, handle: this.process.handle, ...(exit && { exit }), suspended };
  }

  /** New terms of a task that goes on: an update in place never restarts it (AG-115). */
  update(task: Task): void {
    this.context.task = task;
    this.context.restarts.policy = task.RestartPolicy;
  }

  /** Runs until the task is dead or suspended; never rejects. */
  async runTask(): Promise<void> {
    if (this.isDead) return;
    const { ended } = this;
    try {
      let attached = await this.recover();
      if (this.state.Events.length === 0) this.emit('Received');
      for (let again = true; again;) {
        const over = new AbortController();
        const { handle } = this.process;
        if (attached && handle && !this.exit) void this.restoreHooks(handle.taskId, over.signal);
        const end = attached ? await this.untilExit() : await this.round(over.signal);
        over.abort();
        attached = false;
        again = await this.settle(end);
      }
    } catch (error) {
      const { agent, allocId } = this.context;
      agent.logger.error('a task runner failed', { alloc: allocId, task: this.task.Name, error });
      this.emit('Setup Failure', { setup_error: errorText(error), fails_task: 'true' });
      this.events.die();
    } finally {
      ended.open();
      if (this.isDead) void this.callHooks('stop');
    }
  }

  /** The lifecycle moved: look at the gate again. */
  gateMayHaveOpened(): void {
    this.gateMoved.open();
  }

  /** An event that something outside of the task caused. */
  emit(type: string, details: Record<string, string> = {}): void {
    this.context.emit(type, details);
  }

  /** Ends the task (AG-151 to AG-158); resolves when it is dead. One that is dead gets no event. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    if (!this.isDead && !this.context.killing.isOpen && !this.events.isFrozen) {
      this.tellKill(details);
      if (this.process.isUp) void this.putDown();
    }
    await this.ended.opened;
  }

  /** Fails the task, because the preparation of its allocation has failed (AG-81). */
  failSetup(reason: string): void {
    if (this.isDead || this.context.killing.isOpen) return;
    this.emit('Setup Failure', { setup_error: reason, fails_task: 'true' });
    this.context.killing.open();
    if (this.process.isUp) void this.putDown();
  }

  /**
   * Puts the task down and starts it again: as a request at once and uncounted by its policy (AG-160), as a failure by
   * its policy (AG-114). Resolves when the old process has ended and the start is triggered, or the task ended otherwise
   * (AG-166). One more while one is under way joins it.
   * @throws TaskNotRunningError
   */
  async restart(reason: string, as: 'request' | 'failure' = 'request'): Promise<void> {
    const { handle } = this.process;
    if (!handle || !this.isRunning) throw new TaskNotRunningError();
    if (!this.restarting) {
      this.restarting = { done: new Gate(), isFailure: as === 'failure' };
      this.emit('Restart Signaled', { restart_reason: reason });
      void this.stopper.stopForRestart(handle);
    }
    await firstOpened(this.restarting.done, this.ended);
  }

  /** Takes part in a restart of the whole allocation: a running task restarts, an ended one starts anew (AG-162). */
  async restartFromBegin(reason: string): Promise<void> {
    if (this.isRunning) return this.restart(reason);
    if (this.context.killing.isOpen || this.events.isFrozen) return;
    this.emit('Restart Signaled', { restart_reason: reason });
    if (!this.isDead) return; // it waits for its gate or its delay, and starts then
    this.context.ended = new Gate();
    this.events.revived();
    void this.runTask();
  }

  /** @throws TaskNotRunningError, or what the driver says (AG-165) */
  async signal(signal: string, details: Record<string, string> = { signal }): Promise<void> {
    const { handle } = this.process;
    if (!handle || !this.isRunning) throw new TaskNotRunningError();
    this.emit('Signaling', details);
    await this.context.driver.signal(handle.taskId, signal);
  }

  /** Runs a command beside the task; it ends with the task. @throws TaskNotRunningError, NoExecError, the driver's error */
  async exec(command: ExecCommand): Promise<ExecSession> {
    const { handle } = this.process;
    if (!handle || !this.process.isUp) throw new TaskNotRunningError();
    return this.process.runCommand(command, handle);
  }

  /** Runs the script of a changed template in the task. @throws ChangeScriptError when it fails and may not */
  runScript(script: ChangeScript): Promise<void> {
    return runScript(this, script, this.context.agent.timers);
  }

  /** What it uses now; undefined when it does not run (AG-330). */
  usage(): Promise<TaskResourceUsage | undefined> {
    return this.process.usage();
  }

  /**
   * Puts the task down because the agent ends and tasks must not outlive it. Not an end of the task: nothing is
   * reported, and the next agent runs it again (unless the servers no longer want it).
   */
  async suspend(): Promise<void> {
    if (this.isDead) return;
    this.events.freeze();
    this.context.killing.open();
    await this.starting;
    const { handle } = this.process;
    if (handle && this.process.isUp) await this.stopper.stopByDriver(handle);
    await this.process.remove(true);
    this.suspended = true;
    this.exit = null;
    this.events.lostItsProcess();
    this.ended.open();
    await this.context.allocation.control.save();
  }

  /**
   * Takes up the process that an earlier agent started (AG-193, AG-194), also if that agent went before the disk said that
   * the task runs: its program may have ended already, and must not run twice (AG-195).
   * @returns true if it was taken up, or is known to have ended
   */
  private async recover(): Promise<boolean> {
    if (this.exit) return true;
    const { handle } = this.process;
    if (handle) {
      if (await this.process.takeUp(handle)) {
        if (this.state.State !== 'running') this.events.started();
        if (this.context.killing.isOpen) void this.putDown();
        return true;
      }
      await this.process.forget(true);
    }
    if (this.state.State === 'running' && this.context.asksAfterLoss) {
      this.suspended = true;
      const message = 'failed to restore task; will not run until server is contacted';
      this.events.emit('Failed Restoring Task', { message }, { State: 'pending' });
    }
    this.events.lostItsProcess();
    if (this.suspended) {
      await firstOpened(this.context.agent.serversAsked, this.context.killing);
      this.suspended = false;
    }
    return false;
  }

  /** From the gate to the exit. */
  private async round(over: AbortSignal): Promise<RoundEnd> {
    await this.untilGate();
    if (this.isOver()) return { kind: 'killed' };
    const ready = await this.prestart.prepareTask(this.roundOf(over));
    if ('kind' in ready) return ready;
    if (this.isOver()) return { kind: 'killed' };
    const started = this.start(ready);
    this.starting = started.catch(() => undefined); // whoever awaits the start itself hears of it
    return (await started) ?? this.untilExit();
  }

  private async start(config: TaskConfig): Promise<RoundEnd | undefined> {
    const handle = this.process.prepare(config);
    await this.context.allocation.control.save();
    if (this.isOver()) return { kind: 'killed' };
    try {
      await this.process.start(config, handle, (message) => this.emit('Driver', { driver_message: message }));
    } catch (error) {
      this.emit('Driver Failure', { driver_error: errorText(error) });
      await this.process.forget();
      return { kind: 'start-error', recoverable: error instanceof StartError && error.recoverable };
    }
    this.events.started();
    void this.callHooks('poststart');
    if (this.context.killing.isOpen && !this.events.isFrozen) void this.putDown();
    return undefined;
  }

  /** What is left of the process goes only when the disk says how it ended: the next agent would run the task again (AG-195). */
  private async untilExit(): Promise<RoundEnd> {
    if (!this.exit) {
      const { handle } = this.process;
      if (!handle) return { kind: 'killed' };
      this.exit = await this.process.exit(handle);
      this.events.terminated(this.exit);
    }
    const result = this.exit;
    if (this.events.isFrozen) return { kind: 'killed' };
    await this.callHooks('exited');
    await this.context.allocation.control.save();
    await this.process.forget();
    if (!this.context.killing.isOpen && this.restarting)
      return { kind: this.restarting.isFailure ? 'unhealthy' : 'restart-requested' };
    if (!this.context.killing.isOpen) return { kind: 'exit', result };
    this.emit('Killed');
    return { kind: 'killed' };
  }

  /** True: once more. */
  private async settle(end: RoundEnd): Promise<boolean> {
    const { restarting } = this;
    this.restarting = null;
    this.exit = null;
    const decision = this.context.restarts.decide(this.context.killing.isOpen ? { kind: 'killed' } : end);
    switch (decision.kind) {
      case 'killed':
        this.tellKill(); // it found itself unwanted before anybody came to kill it
        this.events.die();
        return false;
      case 'done':
        this.events.die();
        return false;
      case 'failed':
        this.events.notRestarting(decision.reason);
        return false;
      case 'restart':
        this.events.restarting(decision.delayMs, decision.reason);
        restarting?.done.open();
        await pause(this.context.agent.timers, decision.delayMs, this.context.killing);
        if (!this.context.killing.isOpen) return true;
        this.events.die();
        return false;
    }
  }

  private async untilGate(): Promise<void> {
    while (!this.isOver() && !this.context.mayStart) {
      this.gateMoved = new Gate();
      await firstOpened(this.gateMoved, this.context.killing);
    }
  }

  private get events() {
    return this.context.events;
  }

  /** Up, and neither on its way down nor just ended. */
  private get isRunning(): boolean {
    return this.process.isUp && this.state.State === 'running' && !this.context.killing.isOpen;
  }

  private isOver(): boolean {
    return this.context.killing.isOpen || !this.context.isWanted;
  }

  private async putDown(): Promise<void> {
    const { handle } = this.process;
    if (handle) await this.stopper.kill(handle);
  }

  /** Once. */
  private tellKill(details: Record<string, string> = {}): void {
    if (this.context.killing.isOpen) return;
    this.emit('Killing', this.stopper.killingDetails(details));
    this.context.killing.open();
  }

  private roundOf(over: AbortSignal): TaskRound {
    return { signal: this.killed.signal, over, emit: (type, details) => this.emit(type, details), control: this };
  }

  /** What hooks keep up around a task that ran on without the agent. Never rejects. */
  private async restoreHooks(taskId: string, over: AbortSignal): Promise<void> {
    const { context } = this;
    try {
      await context.preparation.restore(await context.configure(taskId), context, this.roundOf(over));
    } catch (error) {
      const { agent, allocId, task } = context;
      agent.logger.error('a task goes on, but not all around it', { alloc: allocId, task: task.Name, error });
    }
  }

  /** Hooks that are told and decide nothing. Never rejects. */
  private async callHooks(point: 'poststart' | 'exited' | 'stop'): Promise<void> {
    const { agent, allocId, task } = this.context;
    for (const hook of agent.taskHooks ?? []) {
      try {
        await hook[point]?.(this.context);
      } catch (error) {
        agent.logger.error(`a ${point} hook of a task failed`, {
          hook: hook.name,
          alloc: allocId,
          task: task.Name,
          error,
        });
      }
    }
  }
}
