import {
  type AllocCheckStatus,
  type Allocation,
  type ClientAllocUpdate,
  errorText,
  findTaskGroup,
  isServerTerminal,
  msFromNs,
  nsFromMs,
  Refusal,
} from '@waybill/model';
import type { AllocResourceUsage } from '@waybill/rpc';
import { traceparentOf, withSpan } from '@waybill/telemetry';
import type { CountedAllocation } from '../machine/metrics/node-series.js';
import { checkAllocationNames } from '../paths/allocation-names.js';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';
import { stageAfter } from '../tasks/task-lifecycle.js';
import { Gate } from '../waiting/gate.js';
import type { AgentServices } from './agent-services.js';
import { type AllocationControl, AllocationContext } from './allocation-context.js';
import { OrderedAllocationHooks } from './allocation-hook.js';
import { allocationHooks } from './allocation-hooks.js';
import { AllocationReporter } from './allocation-reporter.js';
import { AllocationStopper } from './allocation-stopper.js';
import { AllocationTasks } from './allocation-tasks.js';
import { usageOfAllocation } from './allocation-usage.js';
import type { AllocationRecord } from './records/allocation-record.js';
import type { Disconnectable } from './stops-on-disconnect.js';

/**
 * AllocationRunner runs one allocation on this machine (agent.md section 9). It is a state machine that drives an
 * ordered list of hooks (allocation-hooks.ts) and one runner per task (allocation-tasks.ts).
 *
 * new        the runner is made, and restored if there is a record
 * preparing  the prerun hooks work one after the other; the task runners wait for their gate
 * running    the stage of the lifecycle decides which tasks may start
 * stopping   it stops for good (allocation-stopper.ts): it was killed, a task failed, the leader ended, its time
 *            is over, or only sidecars are left; prerun hooks that still work give up
 * ended      every task is dead; the postrun hooks release what it held
 * suspended  the agent stopped it at its own end: its record stays, and nothing is reported any more
 * removed    the servers forgot it, or it was collected: nothing of it stays on this machine
 *
 * The phase only moves forward. From preparing or running it becomes ended if every task ends by itself. A restart of
 * all tasks begins the lifecycle again from stage `init` and does not change the phase. A restored allocation is
 * prepared like a new one, from stage `prestart`.
 *
 * Its record and its reports are in allocation-reporter.ts. Allocations never wait for each other's work.
 */
export class AllocationRunner implements AllocationControl {
  private readonly context: AllocationContext;
  private readonly tasks: AllocationTasks;
  private readonly hooks: OrderedAllocationHooks;
  private readonly stopper: AllocationStopper;
  private readonly reporter: AllocationReporter;
  private readonly firstTaskUp = new Gate();
  private startTrace: string | undefined;

  /** @throws AllocationNotRunnableError, UnsafeNameError */
  constructor(alloc: Allocation, agent: AgentServices, restored?: AllocationRecord) {
    this.context = new AllocationContext({ alloc, agent, control: this, isRestored: restored !== undefined });
    checkAllocationNames(alloc, this.context.group);
    this.tasks = new AllocationTasks(this.context, restored?.tasks ?? {});
    this.hooks = new OrderedAllocationHooks(allocationHooks(this.context, this.tasks));
    this.stopper = new AllocationStopper(this.context, this.tasks, this.hooks);
    this.reporter = new AllocationReporter(this.context, this.tasks, this.hooks, restored?.acknowledged ?? null);
    if (restored) this.hooks.restore(restored);
  }

  get alloc(): Allocation {
    return this.context.alloc;
  }

  /** The gate that opens when every task is dead. */
  get ended(): Gate {
    return this.context.ended;
  }

  get isOver(): boolean {
    return this.context.ended.isOpen;
  }

  /**
   * Returns the allocation for StopsOnDisconnect if it may not outlive the contact with the servers. Undefined if it
   * may, or is already stopping (AG-171).
   */
  get disconnectable(): Disconnectable | undefined {
    const { alloc, job, isStopping, isRestored, id } = this.context;
    const afterNs = findTaskGroup(job, alloc.TaskGroup)?.Disconnect?.StopOnClientAfter;
    if (typeof afterNs !== 'number' || afterNs <= 0 || isStopping || this.isOver) return undefined;
    return { id, afterMs: msFromNs(afterNs), isRestored };
  }

  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.reporter.lastAcknowledged;
  }

  /** Runs the allocation. @param traceparent the servers' trace of its placement */
  runAllocation(traceparent?: string): void {
    void this.runUntilEnded(traceparent);
  }

  /**
   * Applies the servers' changes (AG-50, AG-51, AG-180). It ignores an allocation that is older than the current one,
   * unless the servers were restored to it (OP-47).
   */
  update(alloc: Allocation, isRestored = false): void {
    const { context } = this;
    if (!context.isReported) return;
    if (!isRestored && alloc.AllocModifyIndex <= context.alloc.AllocModifyIndex) return;
    const before = context.alloc;
    context.replace(alloc);
    if (isServerTerminal(alloc)) return void this.kill();
    if (alloc.ClientStatus === 'unknown') this.tasks.emitToLive('Reconnected');
    else {
      this.tasks.update(context.wantedGroup);
      this.hooks.update(before);
    }
    this.handleChange();
  }

  /**
   * Restarts tasks in place (section 15): one by name, all running tasks, or all tasks. Resolves when the old processes
   * have ended and the new starts are triggered.
   * @throws Refusal, TaskNotRunningError
   */
  async restart(taskName: string, allTasks: boolean): Promise<void> {
    if (taskName !== '' && allTasks) throw new Refusal('invalid', 'task name cannot be set when restarting all tasks');
    if (isServerTerminal(this.alloc) || this.reporter.isClientTerminal)
      throw new Refusal('conflict', 'restart of an alloc that should not run');
    if (taskName !== '') return this.tasks.restart(taskName, 'User requested task to restart');
    await this.hooks.prerestart();
    await this.stopper.waitForShutdownDelay();
    if (this.context.isStopping || this.isOver) return; // the kill wins (AG-166)
    this.hooks.restarted();
    if (!allTasks) return this.tasks.restartRunning('User requested running tasks to restart');
    this.context.stage = 'init';
    await this.tasks.restartFromBegin('User requested all tasks to restart');
  }

  /** Adds a driver's event to a task. @returns false if there is no such task, or it is dead */
  emitTaskEvent(taskName: string, details: Record<string, string>): boolean {
    const runner = this.tasks.runner(taskName);
    if (!runner || runner.isDead) return false;
    runner.emit('Driver', details);
    return true;
  }

  /** Signals one task, or all if the name is empty (AG-165). @throws Refusal, TaskNotRunningError, the driver's error */
  signal(taskName: string, signal: string): Promise<void> {
    return this.tasks.signal(taskName, signal);
  }

  /** Runs a command beside a task (AG-324). @throws Refusal, NoExecError, the driver's error */
  exec(taskName: string, command: ExecCommand): Promise<ExecSession> {
    return this.tasks.exec(taskName, command);
  }

  /**
   * Returns the usage of its running tasks, or of one of them (AG-330).
   * @throws Refusal for a task that it does not have
   */
  async usage(taskName: string): Promise<AllocResourceUsage> {
    const { id, agent } = this.context;
    if (taskName !== '' && !this.tasks.runner(taskName))
      throw new Refusal('not-found', `allocation "${id}" has no task "${taskName}"`);
    return usageOfAllocation(await this.tasks.usage(taskName), nsFromMs(agent.clock.nowMs()));
  }

  /** Returns the allocation's status for metrics. */
  countedAllocation(): CountedAllocation {
    const { alloc, waitsFor } = this.context;
    return { alloc, status: this.reporter.status().ClientStatus, waitsFor, tasks: this.tasks.states() };
  }

  /** Returns the last results of its checks (AG-146). */
  checks(): Record<string, AllocCheckStatus> {
    return { ...this.hooks.record().services?.checks };
  }

  /** Kills all running tasks (AG-150). Resolves when every task is dead. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    await this.stopper.kill(details);
    await this.ended.opened;
  }

  /** Kills all running tasks and removes the allocation from this machine (AG-45, AG-223). */
  async destroy(): Promise<void> {
    const { agent, id } = this.context;
    this.context.enterPhase('removed');
    await this.hooks.leave();
    await this.tasks.killAll();
    await this.hooks.destroy();
    await agent.directories.remove(id);
    // The record is removed last. If the agent dies before, the next one finds the record and removes the rest.
    await agent.records.remove(id);
  }

  /** Stops the tasks without recording an end. The agent ends, and its tasks must not outlive it. */
  async suspend(): Promise<void> {
    this.context.enterPhase('suspended');
    await this.hooks.shutdown();
    await this.tasks.suspend();
  }

  /** Records the state that the servers have confirmed (AG-65). */
  acknowledge(update: ClientAllocUpdate): void {
    this.reporter.acknowledge(update);
  }

  /** Returns its state for the servers. */
  clientUpdate(): ClientAllocUpdate {
    return this.reporter.update();
  }

  /**
   * Handles a change of a task or of the health: it updates hooks and stage, opens gates, kills tasks that must go with
   * another, saves and reports.
   */
  handleChange(): void {
    if (this.context.phase === 'suspended') return;
    this.hooks.tasksChanged();
    this.context.stage = stageAfter(this.context.stage, this.tasks.all);
    this.tasks.gatesMayHaveOpened();
    this.stopper.killSiblings();
    if (!this.context.isReported) return;
    if (this.reporter.status().ClientStatus !== 'pending') this.firstTaskUp.open();
    void this.reporter.saveAndReport(this.startTrace);
  }

  checksChanged(): void {
    this.hooks.checksChanged();
    void this.save();
  }

  save(): Promise<void> {
    return this.reporter.save();
  }

  taskGoesDown(): Promise<void> {
    return this.hooks.taskGoesDown();
  }

  private async runUntilEnded(traceparent: string | undefined): Promise<void> {
    this.context.enterPhase('preparing');
    this.tasks.runTasks();
    const over = this.tasks.untilDead();
    if (!this.isOver) {
      if (isServerTerminal(this.alloc)) void this.kill();
      this.traceStart(traceparent, over);
    }
    void this.runPrerunHooks();
    this.handleChange();
    await over;
    this.tasks.setWaitReason('');
    this.hooks.stop();
    if (this.context.phase === 'suspended') return;
    this.context.enterPhase('ended');
    this.ended.open();
    void this.hooks.postrun(); // the report that the tasks have ended does not wait for it
  }

  /** Traces the start. The span lasts until the first task runs. */
  private traceStart(traceparent: string | undefined, over: Promise<void>): void {
    const { ID, TaskGroup, JobID, Namespace } = this.alloc;
    const attributes = { 'alloc.id': ID, 'job.id': JobID, 'job.namespace': Namespace, 'job.group': TaskGroup };
    void withSpan(this.context.agent.tracer(), 'agent start', { traceparent, attributes }, async (span) => {
      this.startTrace = traceparentOf(span) ?? traceparent;
      await Promise.race([this.firstTaskUp.opened, over]);
    });
  }

  /**
   * Runs the hooks that prepare the allocation, and fails it if one of them fails (AG-80, AG-81). Tasks may start
   * afterwards; if the allocation is stopping, only its poststop tasks start.
   */
  private async runPrerunHooks(): Promise<void> {
    try {
      if (!(await this.hooks.prerun())) return;
    } catch (error) {
      return this.stopper.failSetup(`failed to setup alloc: ${errorText(error)}`);
    }
    this.context.enterPhase('running');
    this.context.isPrepared = true;
    this.tasks.gatesMayHaveOpened();
  }
}
