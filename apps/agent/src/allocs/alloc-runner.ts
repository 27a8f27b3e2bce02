import {
  type AllocCheckStatus,
  type Allocation,
  type CancelTimer,
  type ClientAllocUpdate,
  findTaskGroup,
  isClientTerminal,
  isServerTerminal,
  msFromNs,
  nsFromMs,
  rfc3339FromMs,
  type TaskGroup,
} from '@waybill/model';
import type { AllocResourceUsage } from '@waybill/rpc';
import { traceparentOf, withSpan } from '@waybill/telemetry';
import { inheritDisk } from '../disks/alloc-disk.js';
import { AllocHealth } from './alloc-health.js';
import type { AllocHost } from './alloc-host.js';
import type { AllocRecord } from '../recovery/alloc-record.js';
import { AllocNotRunnableError, healthOf, jobOf } from './alloc-report.js';
import { type AllocStatus, statusOfTasks, withEnds } from './alloc-status.js';
import { usageOfAlloc } from './alloc-usage.js';
import { AllocStorage } from '../csi/alloc-storage.js';
import type { ExecCommand, ExecSession } from '../exec/exec-session.js';
import { Gate, pause } from '../gate.js';
import type { Watched } from './health-watch.js';
import { AllocServices } from '../services/alloc-services.js';
import type { Disconnectable } from './stops-on-disconnect.js';
import { servicesOf } from '../services/workload-service.js';
import { AllocActionError, TaskCrew } from '../tasks/task-crew.js';
import { isGateOpen, type Stage, stageAfter } from '../tasks/task-lifecycle.js';
import { recruitTask, type TaskSeat } from '../tasks/task-recruit.js';

const EXPIRED = 'allocation exceeded max_run_duration';

/**
 * One allocation on this machine (agent.md section 9).
 *
 * new → running → ended → destroyed. running: every task has a runner (task-runner.ts, task-crew.ts); the stage of the
 * lifecycle says which may start. running → ended: every task is dead, by itself or killed because the servers want it
 * stopped, a task failed, the leader ended, its time is over (AG-77), or only sidecars are left. A restart of all tasks
 * begins the lifecycle again, from `init`. Beside that its health is watched once (alloc-health.ts), and its services
 * are offered while their tasks run (alloc-services.ts). Restored: the same from what is on disk, from stage `prestart`.
 * suspended: the agent put it down on its way out; nothing changes or is told any more.
 *
 * Every change is first on disk, then reported (AG-191). The work of one allocation never waits for another's.
 * Cost of a change: O(tasks of the group) and one write of its record.
 */
export class AllocRunner {
  readonly ended = new Gate();
  private readonly crew: TaskCrew;
  private readonly group: TaskGroup;
  private readonly health: AllocHealth;
  private readonly services: AllocServices;
  private readonly storage: AllocStorage;
  private stage: Stage;
  private acknowledged: ClientAllocUpdate | null;
  /** AG-154: the servers want the delays of a kill skipped. */
  private readonly delaysSkipped = new Gate();
  /** Its predecessors on this machine have ended, or it is killed: tasks may start (AG-53). */
  private readonly ready = new Gate();
  /** The services of the group are offered. */
  private isOffered: boolean;
  private isExpired: boolean;
  private readonly isRestored: boolean;
  private isKilling = false;
  private isSuspended = false;
  private isDestroyed = false;
  private firstTaskUp = new Gate();
  private startTrace: string | undefined;

  /** @throws AllocNotRunnableError */
  constructor(
    private current: Allocation,
    private readonly deps: AllocHost,
    restored?: AllocRecord,
  ) {
    const job = jobOf(current);
    const group = findTaskGroup(job, current.TaskGroup);
    if (!group) throw new AllocNotRunnableError(`job "${job.ID}" has no task group "${current.TaskGroup}"`);
    this.group = group;
    this.isRestored = restored !== undefined;
    this.stage = restored ? 'prestart' : 'init';
    this.acknowledged = restored?.acknowledged ?? null;
    this.isExpired = restored?.expired ?? false;
    this.isOffered = this.isRestored;
    if (current.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
    const seat: TaskSeat = {
      alloc: () => this.current,
      mayStart: (kind) => this.ready.isOpen && isGateOpen(this.stage, kind),
      delaysSkipped: this.delaysSkipped,
      withdraw: () => this.services.briefly(this.offerServices()),
      save: () => this.save(),
      changed: () => this.changed(),
    };
    this.crew = new TaskCrew(group, (task) => recruitTask(task, deps, seat, restored?.tasks[task.Name]));
    this.health = new AllocHealth(
      { ...deps, watched: () => this.watched(), judged: (events) => this.judged(events) },
      restored?.health ?? healthOf(current),
    );
    this.services = new AllocServices(
      {
        ...deps,
        allocId: current.ID,
        changed: () => this.checksChanged(),
        upSinceMs: (task) => this.crew.upSinceMs(task),
        unhealthy: (task, reason) => void this.crew.restartUnhealthy(task, reason),
      },
      restored?.services,
    );
    this.storage = new AllocStorage(deps.csi, {
      ...deps,
      alloc: current,
      group,
      emit: (task, type, details) => this.crew.runner(task)?.emit(type, details),
      fail: (task, reason) => void this.crew.restartUnhealthy(task, reason),
      save: () => this.save(),
      restored: restored?.volumes,
    });
  }

  get alloc(): Allocation {
    return this.current;
  }

  get isOver(): boolean {
    return this.ended.isOpen;
  }

  /** AG-171: what may not outlive the contact with the servers; undefined: it may, or is on its way down. */
  get disconnectable(): Disconnectable | undefined {
    const { ID: id, TaskGroup } = this.current;
    const afterNs = findTaskGroup(jobOf(this.current), TaskGroup)?.Disconnect?.StopOnClientAfter;
    if (typeof afterNs !== 'number' || afterNs <= 0 || this.isKilling || this.isOver) return undefined;
    return { id, afterMs: msFromNs(afterNs), isRestored: this.isRestored };
  }

  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.acknowledged;
  }

  /** The servers' trace that placed it. */
  run(traceparent?: string): void {
    void this.live(traceparent);
  }

  /** AG-50, AG-51, AG-180: what the servers changed. One that is older than the present is dropped. */
  update(alloc: Allocation): void {
    if (alloc.AllocModifyIndex <= this.current.AllocModifyIndex || this.isSuspended) return;
    const reconnects = alloc.ClientStatus === 'unknown' && !isServerTerminal(alloc);
    const before = this.current;
    this.current = { ...alloc, Job: alloc.Job ?? before.Job };
    if (alloc.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
    if (isServerTerminal(alloc)) return void this.kill();
    if (reconnects) this.crew.emitToLive('Reconnected');
    else {
      this.crew.takeOver(findTaskGroup(jobOf(this.current), alloc.TaskGroup));
      this.health.update(alloc, before.DeploymentID);
      this.watchHealth();
    }
    this.changed();
  }

  /**
   * Starts tasks again in place (section 15): one by name, all that run, or all. Resolves when the old processes have
   * ended and the new starts are triggered.
   * @throws AllocActionError, TaskNotRunningError
   */
  async restart(taskName: string, allTasks: boolean): Promise<void> {
    if (taskName !== '' && allTasks) throw new AllocActionError('task name cannot be set when restarting all tasks');
    if (isServerTerminal(this.current) || isClientTerminal(this.report()))
      throw new AllocActionError('restart of an alloc that should not run');
    if (taskName !== '') return this.crew.restart(taskName, 'User requested task to restart');
    await this.groupGoesDown();
    if (this.isKilling || this.isOver) return; // the kill wins (AG-166)
    this.isOffered = true;
    void this.offerServices();
    if (!allTasks) return this.crew.restartRunning('User requested running tasks to restart');
    this.stage = 'init';
    await this.crew.restartFromBegin('User requested all tasks to restart');
  }

  /** AG-165: to one task, or with an empty name to all. @throws AllocActionError, TaskNotRunningError, the driver's error */
  signal(taskName: string, signal: string): Promise<void> {
    return this.crew.signal(taskName, signal);
  }

  /** AG-324: a command beside a task. @throws AllocActionError, NoExecError, what the driver says */
  exec(taskName: string, command: ExecCommand): Promise<ExecSession> {
    return this.crew.exec(taskName, command);
  }

  /** What its running tasks use, or one of them (AG-330). @throws AllocActionError for a task that it does not have */
  async usage(taskName: string): Promise<AllocResourceUsage> {
    if (taskName !== '' && !this.crew.runner(taskName))
      throw new AllocActionError(`allocation "${this.current.ID}" has no task "${taskName}"`);
    return usageOfAlloc(await this.crew.usage(taskName), nsFromMs(this.deps.clock.nowMs()));
  }

  /** The last results of its checks (AG-146). */
  checks(): Record<string, AllocCheckStatus> {
    return this.services.checks();
  }

  /** Kills what runs (AG-150); resolves when every task is dead. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    if (!this.isKilling && !this.isOver) {
      this.isKilling = true;
      await this.killInOrder(details);
    }
    await this.ended.opened;
  }

  /** Kills what runs and removes all of it from this machine (AG-45, AG-223). */
  async destroy(): Promise<void> {
    this.isDestroyed = true;
    this.health.stop();
    await this.services.withdraw();
    await this.crew.killAll();
    this.services.close();
    await this.storage.end();
    await this.deps.records.remove(this.current.ID);
    await this.deps.directories.remove(this.current.ID);
  }

  /** The agent ends and its tasks must not outlive it: puts them down without an end. */
  async suspend(): Promise<void> {
    this.isSuspended = true;
    this.health.stop();
    await this.services.withdraw();
    this.services.close();
    this.storage.close();
    await this.crew.suspend();
  }

  /** AG-65. */
  acknowledge(update: ClientAllocUpdate): void {
    this.acknowledged = update;
    if (!this.isDestroyed && !this.isSuspended) void this.save();
  }

  /** Its state as the servers are told it. */
  report(): ClientAllocUpdate {
    const status = this.status();
    if (status.ClientStatus === 'failed' && this.current.DeploymentID !== '') this.health.failed();
    const now = rfc3339FromMs(this.deps.clock.nowMs());
    return {
      ID: this.current.ID,
      NodeID: this.current.NodeID,
      ...status,
      TaskStates: withEnds(this.crew.states(), status.ClientStatus, now),
      DeploymentStatus: this.health.value,
      NetworkStatus: this.current.NetworkStatus,
      ModifyTime: 0,
    };
  }

  private async live(traceparent: string | undefined): Promise<void> {
    const { ID, TaskGroup, JobID, Namespace } = this.current;
    const attributes = { 'alloc.id': ID, 'job.id': JobID, 'job.namespace': Namespace, 'job.group': TaskGroup };
    this.crew.run();
    const over = this.crew.untilDead();
    if (!this.isOver) {
      if (isServerTerminal(this.current)) void this.kill();
      void withSpan(this.deps.tracer(), 'agent start', { traceparent, attributes }, async (span) => {
        this.startTrace = traceparentOf(span) ?? traceparent;
        await Promise.race([this.firstTaskUp.opened, over]);
      });
    }
    const cancelExpiry = this.expireInTime();
    this.watchHealth();
    void this.whenPredecessorsEnded();
    this.changed();
    await over;
    cancelExpiry();
    this.health.stop();
    if (this.isSuspended) return;
    this.ended.open();
    void this.storage.release(); // AG-295: nobody waits for it to be told that the tasks have ended
  }

  /** AG-53, AG-80; the group's services are there before its tasks (AG-141), and so are its volumes. */
  private async whenPredecessorsEnded(): Promise<void> {
    await this.deps.predecessorsEnded(this.current);
    // One that was taken up again has what it has.
    if (!this.isRestored) await inheritDisk(this.deps, this.current, this.group, () => !this.isKilling);
    const isWanted = !this.isKilling && !this.crew.isDead; // AG-82
    if (isWanted && !(await this.prepared())) return;
    this.isOffered = !this.isKilling;
    await this.offerServices();
    this.ready.open();
    this.crew.gatesMayHaveOpened();
  }

  /** AG-81. */
  private async prepared(): Promise<boolean> {
    try {
      return await this.storage.prepare();
    } catch (error) {
      if (this.isKilling) return false;
      this.isKilling = true;
      this.crew.failSetup(`failed to setup alloc: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }

  /** AG-140 to AG-144: what is up is offered. */
  private offerServices(): Promise<void> {
    const { region, hostEnv } = this.deps;
    const networkOf = (task: string) => this.crew.runner(task)?.network ?? null;
    const place = { alloc: this.current, job: jobOf(this.current), node: this.deps.node(), region, hostEnv, networkOf };
    const isUp = (task: string): boolean =>
      task === '' ? this.isOffered && !this.crew.isDead : this.crew.runner(task)?.isOffering === true;
    return this.services.offer(servicesOf(place), isUp);
  }

  /** AG-77. Counts from the servers' time of making it, so it survives restarts of the agent. */
  private expireInTime(): CancelTimer {
    const { MaxRunDuration } = this.group;
    const { Type } = jobOf(this.current);
    if (MaxRunDuration === null || MaxRunDuration <= 0 || (Type !== 'batch' && Type !== 'sysbatch')) return () => {};
    const atMs = msFromNs(this.current.CreateTime + MaxRunDuration);
    return this.deps.timers.after(atMs - this.deps.clock.nowMs(), () => {
      this.isExpired = true;
      void this.kill({ kill_reason: EXPIRED });
    });
  }

  /** AG-120 to AG-122, AG-129. */
  private watchHealth(): void {
    this.health.stop();
    if (this.isKilling || this.crew.isDead || isServerTerminal(this.current)) return;
    void this.offerServices(); // what is judged is known from the first look
    this.health.begin(this.current);
  }

  private watched(): Watched {
    const tasks = this.crew.all.map(({ kind, runner }) => ({ name: runner.task.Name, kind, state: runner.state }));
    return { tasks, checks: this.services.watched() };
  }

  /** AG-128. */
  private judged(events: Readonly<Record<string, string>>): void {
    for (const [name, message] of Object.entries(events)) this.crew.runner(name)?.emit('Alloc Unhealthy', { message });
    this.changed();
  }

  private checksChanged(): void {
    this.health.look();
    void this.save();
  }

  /** A task changed: the stage, who has to go with it, the disk, the servers. */
  private changed(): void {
    if (this.isSuspended) return;
    void this.offerServices();
    this.health.look();
    this.storage.look(this.crew.states());
    const tasks = this.crew.all.map(({ kind, runner }) => ({ kind, state: runner.state }));
    this.stage = stageAfter(this.stage, tasks);
    this.crew.gatesMayHaveOpened();
    this.killDependants();
    if (this.isDestroyed) return;
    const trace = this.startTrace;
    if (this.status().ClientStatus !== 'pending') this.firstTaskUp.open();
    void this.saveAndReport(trace);
  }

  private async saveAndReport(trace: string | undefined): Promise<void> {
    await this.save();
    if (!this.isSuspended && !this.isDestroyed) this.deps.report(this.report(), trace);
  }

  /** AG-204: a failed write is visible and stops nothing. */
  private async save(): Promise<void> {
    if (this.isDestroyed) return;
    try {
      await this.deps.records.save(this.record());
    } catch (error) {
      this.deps.logger.error(
        'the state of an allocation cannot be written: after a restart of the agent its tasks are lost',
        { alloc: this.current.ID, error },
      );
    }
  }

  private record(): AllocRecord {
    return {
      version: 1,
      alloc: this.current,
      tasks: this.crew.records(),
      health: this.health.value,
      expired: this.isExpired,
      services: this.services.record(),
      volumes: this.storage.record(),
      acknowledged: this.acknowledged,
    };
  }

  private killDependants(): void {
    const departure = this.isKilling ? null : this.crew.departure();
    if (!departure) return;
    this.isKilling = true;
    this.crew.emitToLive(departure.type, departure.details);
    void this.killInOrder({});
  }

  private async killInOrder(details: Record<string, string>): Promise<void> {
    this.health.stop(); // AG-127
    await this.groupGoesDown();
    await this.crew.killInOrder(details);
    // AG-95: what the servers count as lost, or had its time, has nothing more to do.
    if (isClientTerminal(this.current) || this.isExpired) await this.crew.killAll();
  }

  /** AG-142, AG-154: the services of the group, then its delay: before a kill and before a restart of several tasks. */
  private async groupGoesDown(): Promise<void> {
    this.isOffered = false;
    await this.services.briefly(this.offerServices());
    const delayMs = msFromNs(this.group.ShutdownDelay ?? 0);
    const isRunning = this.crew.live.some(({ runner }) => runner.state.State === 'running');
    if (delayMs <= 0 || !isRunning || this.delaysSkipped.isOpen) return;
    await pause(this.deps.timers, delayMs, this.ended, this.delaysSkipped);
  }

  private status(): AllocStatus {
    const isExpired = this.isExpired && this.crew.isDead;
    return isExpired ? { ClientStatus: 'complete', ClientDescription: EXPIRED } : statusOfTasks(this.crew.states());
  }
}
