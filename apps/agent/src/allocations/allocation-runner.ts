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
 * One allocation on this machine (agent.md section 9), as a state machine that drives an ordered list of hooks
 * (allocation-hooks.ts) and one runner for each task (allocation-tasks.ts).
 *
 * new        made, and restored if there is a record of it
 * preparing  the prerun hooks work, one after the other; the runners of its tasks wait for their gate
 * running    the stage of the lifecycle says which tasks may start
 * stopping   it goes down for good (allocation-stopper.ts): somebody kills it, a task failed, the leader ended, its time
 *            is over, or only sidecars are left; prerun hooks that still work let go
 * ended      every task is dead; the postrun hooks give back what it held
 * suspended  the agent put it down on its own way out: it is kept as it was, and nothing is told any more
 * removed    the servers forgot it, or it was collected: nothing of it stays on this machine
 *
 * The phase only moves forward. preparing → ended and running → ended: every task ended by itself. A restart of all tasks
 * begins the lifecycle again, from stage `init`, and is no phase. A restored allocation is prepared like a new one, from
 * stage `prestart`.
 *
 * What is kept and told of it is in allocation-reporter.ts. The work of one allocation never waits for another's.
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

  /** Open when every task is dead. */
  get ended(): Gate {
    return this.context.ended;
  }

  get isOver(): boolean {
    return this.context.ended.isOpen;
  }

  /** What may not outlive the contact with the servers; undefined: it may, or is on its way down (AG-171). */
  get disconnectable(): Disconnectable | undefined {
    const { alloc, job, isStopping, isRestored, id } = this.context;
    const afterNs = findTaskGroup(job, alloc.TaskGroup)?.Disconnect?.StopOnClientAfter;
    if (typeof afterNs !== 'number' || afterNs <= 0 || isStopping || this.isOver) return undefined;
    return { id, afterMs: msFromNs(afterNs), isRestored };
  }

  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.reporter.lastAcknowledged;
  }

  /** @param traceparent the servers' trace that placed it */
  runAllocation(traceparent?: string): void {
    void this.live(traceparent);
  }

  /**
   * Takes over what the servers changed (AG-50, AG-51, AG-180). An allocation that is older than the present one is dropped,
   * unless the servers were taken back to it (OP-47).
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
    this.changed();
  }

  /**
   * Starts tasks again in place (section 15): one by name, all that run, or all. Resolves when the old processes have
   * ended and the new starts are triggered.
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

  /** Signals one task, or all if the name is empty (AG-165). @throws Refusal, TaskNotRunningError, the driver's error */
  signal(taskName: string, signal: string): Promise<void> {
    return this.tasks.signal(taskName, signal);
  }

  /** Runs a command beside a task (AG-324). @throws Refusal, NoExecError, the driver's error */
  exec(taskName: string, command: ExecCommand): Promise<ExecSession> {
    return this.tasks.exec(taskName, command);
  }

  /** What its running tasks use, or one of them (AG-330). @throws Refusal for a task that it does not have */
  async usage(taskName: string): Promise<AllocResourceUsage> {
    const { id, agent } = this.context;
    if (taskName !== '' && !this.tasks.runner(taskName))
      throw new Refusal('not-found', `allocation "${id}" has no task "${taskName}"`);
    return usageOfAllocation(await this.tasks.usage(taskName), nsFromMs(agent.clock.nowMs()));
  }

  /** How far it is, for those who count what is on this machine. */
  counted(): CountedAllocation {
    const { alloc, waitsFor } = this.context;
    return { alloc, status: this.reporter.status().ClientStatus, waitsFor, tasks: this.tasks.states() };
  }

  /** The last results of its checks (AG-146). */
  checks(): Record<string, AllocCheckStatus> {
    return { ...this.hooks.record().services?.checks };
  }

  /** Kills what runs (AG-150); resolves when every task is dead. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    await this.stopper.kill(details);
    await this.ended.opened;
  }

  /** Kills what runs and removes all of it from this machine (AG-45, AG-223). */
  async destroy(): Promise<void> {
    const { agent, id } = this.context;
    this.context.enter('removed');
    await this.hooks.leave();
    await this.tasks.killAll();
    await this.hooks.destroy();
    await agent.directories.remove(id);
    // Last: an agent that dies before finds what is left, and removes it then.
    await agent.records.remove(id);
  }

  /** The agent ends and its tasks must not outlive it: puts them down without an end. */
  async suspend(): Promise<void> {
    this.context.enter('suspended');
    await this.hooks.shutdown();
    await this.tasks.suspend();
  }

  /** Records the state that the servers have confirmed (AG-65). */
  acknowledge(update: ClientAllocUpdate): void {
    this.reporter.acknowledge(update);
  }

  /** Its state as the servers are told it. */
  report(): ClientAllocUpdate {
    return this.reporter.update();
  }

  /** A task or the health changed: the hooks, the stage, the tasks that have to go with another, the disk, the servers. */
  changed(): void {
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

  private async live(traceparent: string | undefined): Promise<void> {
    this.context.enter('preparing');
    this.tasks.runTasks();
    const over = this.tasks.untilDead();
    if (!this.isOver) {
      if (isServerTerminal(this.alloc)) void this.kill();
      this.traceStart(traceparent, over);
    }
    void this.prepare();
    this.changed();
    await over;
    this.tasks.noteWait('');
    this.hooks.stop();
    if (this.context.phase === 'suspended') return;
    this.context.enter('ended');
    this.ended.open();
    void this.hooks.postrun(); // nobody waits for it to be told that the tasks have ended
  }

  /** The span lasts until the first task is up. */
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
   * afterwards; if the allocation is being stopped, these are its poststop tasks.
   */
  private async prepare(): Promise<void> {
    try {
      if (!(await this.hooks.prerun())) return;
    } catch (error) {
      return this.stopper.failSetup(`failed to setup alloc: ${errorText(error)}`);
    }
    this.context.enter('running');
    this.context.isPrepared = true;
    this.tasks.gatesMayHaveOpened();
  }
}
