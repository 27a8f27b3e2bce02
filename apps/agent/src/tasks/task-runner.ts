import { type ChangeScript, errorText, type Task, type TaskState } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import {
  type DriverNetwork,
  type ExitResult,
  StartCancelledError,
  StartError,
  type TaskConfig,
} from '../drivers/driver.js';
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
 * TaskRunner runs one task of one allocation, from its first event to its end (agent.md section 11).
 *
 * pending  waiting for its gate → preparing → starting, or waiting for the end of a restart delay
 * running  the driver has started it, and the runner waits for its exit
 * dead     for good, unless the whole allocation is restarted; a runner that was restored dead does nothing
 *
 * pending → running: the driver started it. running → pending: it ended and the policy starts it again; or a request
 * restarts it without delay, uncounted by the policy; or a failed check restarts it as a failure. pending → dead: it
 * was killed before it ran, or its configuration or start failed for good. running → dead: it was killed, is done, or
 * failed by policy. dead → pending: a restart of the whole allocation (AG-7), unless the task was killed. A kill is
 * possible at any moment. It ends every wait. A start in progress is given up if its driver can do that (PG-140), and is
 * stopped as soon as it has succeeded otherwise (AG-410).
 * A recovered task is running without a new start, or pending until contact with the servers. suspended: the agent
 * stopped it at its own end, and its state no longer changes. Nor does that of a start that the end of the agent cancels.
 *
 * Its process is in task-process.ts; the process's handle is on disk before the driver starts it (AG-440). Limits:
 * MAX_TASK_EVENTS, maxKillTimeoutMs, MAX_STOP_ATTEMPTS. Cost: nothing while it waits.
 */
export class TaskRunner implements TaskControl {
  private readonly process: TaskProcess;
  private readonly stopper: TaskStopper;
  private readonly prestart: TaskPrestart;
  private suspended: boolean;
  /** The exit of the process until the runner has decided what follows; null if the process has not ended. */
  private exit: ExitResult | null;
  private readonly killed = new AbortController();
  private gateMoved = new Gate();
  /** The requested restart. Its gate opens when the restart has stopped the task and the next start is triggered. */
  private restarting: { readonly done: Gate; readonly isFailure: boolean } | null = null;
  /** The current or last start. */
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

  /** Opens when the task is dead or suspended. A revival replaces it by another gate. */
  get ended(): Gate {
    return this.context.ended;
  }

  /** Returns the immutable state. A change replaces it (AG-423). */
  get state(): TaskState {
    return this.context.state;
  }

  get isDead(): boolean {
    return this.context.isDead;
  }

  /** Says whether the task runs and is not stopping, so that its services may be used (AG-142). */
  get isOffering(): boolean {
    return this.isRunning && this.restarting === null;
  }

  /** Returns the network that the driver made for the task alone. */
  get network(): DriverNetwork | null {
    return this.process.network;
  }

  record(): TaskRecord {
    const { state, exit, suspended } = this;
    return { state, handle: this.process.handle, ...(exit && { exit }), suspended };
  }

  /** Applies new terms to a task that continues. An update in place never restarts it (AG-115). */
  update(task: Task): void {
    this.context.task = task;
    this.context.restarts.policy = task.RestartPolicy;
  }

  /** Runs the task until it is dead or suspended; never rejects. */
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
        const end = attached ? await this.untilExit() : await this.runRound(over.signal);
        over.abort();
        attached = false;
        again = await this.applyRestartDecision(end);
      }
    } catch (error) {
      const { agent, allocId } = this.context;
      agent.logger.error('a task runner failed', { alloc: allocId, task: this.task.Name, error });
      this.emit('Setup Failure', { setup_error: errorText(error), fails_task: 'true' });
      this.events.recordDeath();
    } finally {
      ended.open();
      if (this.isDead) void this.callHooks('stop');
    }
  }

  /** Makes the runner check its gate again, because the lifecycle has moved. */
  gateMayHaveOpened(): void {
    this.gateMoved.open();
  }

  /** Adds an event whose cause is outside of the task. */
  emit(type: string, details: Record<string, string> = {}): void {
    this.context.emit(type, details);
  }

  /** Ends the task (AG-151 to AG-158). Resolves when it is dead. A dead task gets no event. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    if (!this.isDead && !this.context.killing.isOpen && !this.events.isFrozen) {
      this.beginKill(details);
      if (this.process.isUp) void this.stopProcess();
    }
    await this.ended.opened;
  }

  /** Fails the task, because the preparation of its allocation has failed (AG-81). */
  failSetup(reason: string): void {
    if (this.isDead || this.context.killing.isOpen) return;
    this.emit('Setup Failure', { setup_error: reason, fails_task: 'true' });
    this.context.killing.open();
    if (this.process.isUp) void this.stopProcess();
  }

  /**
   * Stops the task and starts it again. A request restarts it at once and uncounted by its policy (AG-160), a failure
   * according to its policy (AG-114). Resolves when the old process has ended and the start is triggered, or when the
   * task ended otherwise (AG-166). A second restart joins the first.
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
    if (!this.isDead) return; // a pending task starts after its gate or its delay
    this.context.ended = new Gate();
    this.events.recordRevival();
    void this.runTask();
  }

  /** Sends a signal. @throws TaskNotRunningError, or the driver's error (AG-165) */
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

  /** Runs the script of a changed template in the task. @throws ChangeScriptError if it fails and its failure counts */
  runScript(script: ChangeScript): Promise<void> {
    return runScript(this, script, this.context.agent.timers);
  }

  /** Returns its current usage, or undefined if it does not run (AG-330). */
  usage(): Promise<TaskResourceUsage | undefined> {
    return this.process.usage();
  }

  /**
   * Stops the task because the agent ends and tasks must not outlive it. This is not an end of the task: nothing is
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
   * Recovers the process that an earlier agent started (AG-193, AG-194). The earlier agent may have ended before the
   * disk said that the task runs. The program may have ended already and must not run twice (AG-195).
   * @returns true if the process was recovered, or is known to have ended
   */
  private async recover(): Promise<boolean> {
    if (this.exit) return true;
    const { handle } = this.process;
    if (handle) {
      if (await this.process.recoverProcess(handle)) {
        if (this.state.State !== 'running') this.events.recordStart();
        if (this.context.killing.isOpen) void this.stopProcess();
        return true;
      }
      await this.process.removeRemains(true);
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

  /** Runs one round from the gate to the exit. */
  private async runRound(over: AbortSignal): Promise<RoundEnd> {
    await this.untilGate();
    if (this.isUnwanted()) return { kind: 'killed' };
    const ready = await this.prestart.prepareTask(this.roundOf(over));
    if ('kind' in ready) return ready;
    if (this.isUnwanted()) return { kind: 'killed' };
    const started = this.start(ready);
    this.starting = started.catch(() => undefined); // callers that await the start get the error
    return (await started) ?? this.untilExit();
  }

  private async start(config: TaskConfig): Promise<RoundEnd | undefined> {
    const handle = this.process.prepare(config);
    await this.context.allocation.control.save();
    if (this.isUnwanted()) return { kind: 'killed' };
    try {
      const tell = (message: string): void => this.emit('Driver', { driver_message: message });
      await this.process.start(config, handle, tell, this.killed.signal);
    } catch (error) {
      const isCancelled = error instanceof StartCancelledError;
      if (isCancelled && !this.context.killing.isOpen) return this.leaveToNextAgent();
      if (!isCancelled) this.emit('Driver Failure', { driver_error: errorText(error) });
      await this.process.removeRemains(isCancelled);
      if (isCancelled) return { kind: 'killed' };
      return { kind: 'start-error', recoverable: error instanceof StartError && error.recoverable };
    }
    if (this.process.handle !== handle) await this.context.allocation.control.save(); // before it counts as running
    this.events.recordStart();
    void this.callHooks('poststart');
    if (this.context.killing.isOpen && !this.events.isFrozen) void this.stopProcess();
    return undefined;
  }

  /**
   * Ends without a decision, because the agent ends and its driver has given up the start. State and handle stay as
   * before the start. By its handle the next agent removes what is left of this start, and starts the task again.
   */
  private leaveToNextAgent(): RoundEnd {
    this.events.freeze();
    return { kind: 'killed' };
  }

  /**
   * Awaits the exit. It removes the remains of the process only after the exit is on disk. Otherwise the next agent
   * would run the task again (AG-195).
   */
  private async untilExit(): Promise<RoundEnd> {
    if (!this.exit) {
      const { handle } = this.process;
      if (!handle) return { kind: 'killed' };
      this.exit = await this.process.awaitExit(handle);
      this.events.recordTermination(this.exit);
    }
    const result = this.exit;
    if (this.events.isFrozen) return { kind: 'killed' };
    await this.callHooks('exited');
    await this.context.allocation.control.save();
    await this.process.removeRemains();
    if (!this.context.killing.isOpen && this.restarting)
      return { kind: this.restarting.isFailure ? 'unhealthy' : 'restart-requested' };
    if (!this.context.killing.isOpen) return { kind: 'exit', result };
    this.emit('Killed');
    return { kind: 'killed' };
  }

  /** Applies the restart decision. Returns whether the task runs another round. */
  private async applyRestartDecision(end: RoundEnd): Promise<boolean> {
    const { restarting } = this;
    this.restarting = null;
    this.exit = null;
    const decision = this.context.restarts.decide(this.context.killing.isOpen ? { kind: 'killed' } : end);
    switch (decision.kind) {
      case 'killed':
        this.beginKill(); // the task may be unwanted before the allocation kills it
        this.events.recordDeath();
        return false;
      case 'done':
        this.events.recordDeath();
        return false;
      case 'failed':
        this.events.notRestarting(decision.reason);
        return false;
      case 'restart':
        this.events.recordRestart(decision.delayMs, decision.reason);
        restarting?.done.open();
        await pause(this.context.agent.timers, decision.delayMs, this.context.killing);
        if (!this.context.killing.isOpen) return true;
        this.events.recordDeath();
        return false;
    }
  }

  private async untilGate(): Promise<void> {
    while (!this.isUnwanted() && !this.context.mayStart) {
      this.gateMoved = new Gate();
      await firstOpened(this.gateMoved, this.context.killing);
    }
  }

  private get events() {
    return this.context.events;
  }

  /** Says whether the task is up, and neither stopping nor just ended. */
  private get isRunning(): boolean {
    return this.process.isUp && this.state.State === 'running' && !this.context.killing.isOpen;
  }

  private isUnwanted(): boolean {
    return this.context.killing.isOpen || !this.context.isWanted;
  }

  private async stopProcess(): Promise<void> {
    const { handle } = this.process;
    if (handle) await this.stopper.kill(handle);
  }

  /** Emits the kill event once, and begins the kill. */
  private beginKill(details: Record<string, string> = {}): void {
    if (this.context.killing.isOpen) return;
    this.emit('Killing', this.stopper.killingDetails(details));
    this.context.killing.open();
  }

  private roundOf(over: AbortSignal): TaskRound {
    return { signal: this.killed.signal, over, emit: (type, details) => this.emit(type, details), control: this };
  }

  /** Restores the hooks of a task that continued without the agent. Never rejects. */
  private async restoreHooks(taskId: string, over: AbortSignal): Promise<void> {
    const { context } = this;
    try {
      await context.preparation.restore(await context.configure(taskId), context, this.roundOf(over));
    } catch (error) {
      const { agent, allocId, task } = context;
      agent.logger.error('a task goes on, but not all around it', { alloc: allocId, task: task.Name, error });
    }
  }

  /** Calls hooks that only receive a notice and decide nothing. Never rejects. */
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
