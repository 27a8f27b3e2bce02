import {
  type AllocCheckStatus,
  type Allocation,
  type ClientAllocUpdate,
  findTaskGroup,
  isServerTerminal,
  msFromNs,
  nsFromMs,
  type TaskGroup,
  errorText,
  Refusal,
} from '@waybill/model';
import type { AllocResourceUsage } from '@waybill/rpc';
import { traceparentOf, withSpan } from '@waybill/telemetry';
import { inheritDisk } from './disk/inherited-disk.js';
import { AllocHealth } from './allocation-health.js';
import type { AllocHost } from './allocation-host.js';
import { type AllocRecord, hasBegun } from './records/allocation-record.js';
import { AllocNotRunnableError, healthOf, jobOf } from './allocation-report.js';
import { AllocOffer } from './allocation-offer.js';
import { AllocProgress } from './allocation-progress.js';
import { AllocStop } from './allocation-stop.js';
import { usageOfAlloc } from './allocation-usage.js';
import { AllocStorage } from '../volumes/csi/allocation-storage.js';
import type { CountedAlloc } from '../machine/metrics/node-series.js';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';
import { Gate } from '../waiting/gate.js';
import { checkAllocNames } from '../paths/allocation-names.js';
import type { Watched } from './health-watch.js';
import { AllocServices } from '../services/allocation-services.js';
import type { Disconnectable } from './stops-on-disconnect.js';
import { TaskCrew } from '../tasks/task-crew.js';
import { WaitNotice } from '../waiting/wait-notice.js';
import { isGateOpen, type Stage, stageAfter } from '../tasks/task-lifecycle.js';
import { recruitTask, type TaskSeat } from '../tasks/task-recruit.js';

/**
 * One allocation on this machine (agent.md section 9).
 *
 * new → running → ended → destroyed. running: every task has a runner (task-runner.ts, task-crew.ts); the stage of the
 * lifecycle says which may start. running → ended: every task is dead, by itself or killed because the servers want it
 * stopped, a task failed, the leader ended, its time is over (AG-77), or only sidecars are left. A restart of all tasks
 * begins the lifecycle again, from `init`. Beside that its health is watched once (allocation-health.ts), and its services
 * are offered while their tasks run (allocation-services.ts). Restored: the same from what is on disk, from stage `prestart`.
 * suspended: the agent put it down on its way out; nothing changes or is told any more.
 *
 * How it goes down is in allocation-stop.ts, what is kept and told of it in allocation-progress.ts. The work of one allocation never
 * waits for another's.
 */
export class AllocRunner {
  readonly ended = new Gate();
  private readonly crew: TaskCrew;
  /** As it was when it came: what its tasks and its disk are made of. */
  private readonly group: TaskGroup;
  private readonly health: AllocHealth;
  private readonly services: AllocServices;
  private readonly offer: AllocOffer;
  private readonly storage: AllocStorage;
  private readonly stopping: AllocStop;
  private readonly progress: AllocProgress;
  private stage: Stage;
  /** AG-154: the servers want the delays of a kill skipped. */
  private readonly delaysSkipped = new Gate();
  /** Its predecessors on this machine have ended, or it is killed: tasks may start (AG-53). */
  private readonly ready = new Gate();
  private readonly isRestored: boolean;
  /** Its tasks have begun: what is on its disk is theirs. */
  private readonly hasDisk: boolean;
  private inheriting: Promise<void> = Promise.resolve();
  private firstTaskUp = new Gate();
  /** Why its tasks may not start yet; null: they may. */
  private waitsFor: 'predecessors' | 'disk' | null = 'predecessors';
  private startTrace: string | undefined;
  private readonly notice: WaitNotice;

  /** @throws AllocNotRunnableError, UnsafeNameError */
  constructor(
    private current: Allocation,
    private readonly deps: AllocHost,
    restored?: AllocRecord,
  ) {
    const job = jobOf(current);
    const group = findTaskGroup(job, current.TaskGroup);
    if (!group) throw new AllocNotRunnableError(`job "${job.ID}" has no task group "${current.TaskGroup}"`);
    checkAllocNames(current, group);
    this.group = group;
    this.isRestored = restored !== undefined;
    this.hasDisk = restored !== undefined && hasBegun(restored);
    this.stage = restored ? 'prestart' : 'init';
    if (current.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
    const seat: TaskSeat = {
      alloc: () => this.current,
      mayStart: (kind) => this.ready.isOpen && isGateOpen(this.stage, kind),
      delaysSkipped: this.delaysSkipped,
      withdraw: () => this.offer.withdrawn(),
      save: () => this.progress.save(),
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
      save: () => this.progress.save(),
      restored: restored?.volumes,
    });
    this.notice = new WaitNotice(deps.timers, (message) => this.crew.emitToLive('Task Setup', { message }));
    const alloc = (): Allocation => this.current;
    const groupNow = (): TaskGroup => findTaskGroup(jobOf(this.current), this.current.TaskGroup) ?? group;
    this.offer = new AllocOffer(deps, alloc, this.crew, this.services, this.isRestored);
    this.stopping = new AllocStop(
      {
        ...deps,
        alloc,
        group: groupNow,
        crew: this.crew,
        ended: this.ended,
        delaysSkipped: this.delaysSkipped,
        begun: () => this.health.stop(),
        withdrawGroup: () => this.offer.shut(),
      },
      restored?.expired ?? false,
    );
    const { crew, health, services, storage } = this;
    this.progress = new AllocProgress(
      deps,
      { alloc, group: groupNow, crew, health, services, storage, isExpired: () => this.stopping.isExpired },
      restored?.acknowledged ?? null,
    );
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
    if (typeof afterNs !== 'number' || afterNs <= 0 || this.stopping.isBegun || this.isOver) return undefined;
    return { id, afterMs: msFromNs(afterNs), isRestored: this.isRestored };
  }

  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.progress.lastAcknowledged;
  }

  /** The servers' trace that placed it. */
  run(traceparent?: string): void {
    void this.live(traceparent);
  }

  /**
   * AG-50, AG-51, AG-180: what the servers changed. One that is older than the present is dropped, unless the servers were
   * taken back to it (OP-47).
   */
  update(alloc: Allocation, isRestored = false): void {
    if (!this.progress.isTold) return;
    if (!isRestored && alloc.AllocModifyIndex <= this.current.AllocModifyIndex) return;
    const reconnects = alloc.ClientStatus === 'unknown' && !isServerTerminal(alloc);
    const before = this.current;
    this.current = { ...alloc, Job: alloc.Job ?? before.Job };
    if (alloc.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
    if (isServerTerminal(alloc)) return void this.kill();
    if (reconnects) this.crew.emitToLive('Reconnected');
    else {
      this.crew.takeOver(findTaskGroup(jobOf(this.current), alloc.TaskGroup));
      if (!this.isOver) this.stopping.keepTime(jobOf(this.current).Type);
      this.health.update(alloc, before.DeploymentID);
      this.watchHealth();
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
    if (isServerTerminal(this.current) || this.progress.isClientTerminal)
      throw new Refusal('conflict', 'restart of an alloc that should not run');
    if (taskName !== '') return this.crew.restart(taskName, 'User requested task to restart');
    await this.stopping.groupGoesDown();
    if (this.stopping.isBegun || this.isOver) return; // the kill wins (AG-166)
    void this.offer.open();
    if (!allTasks) return this.crew.restartRunning('User requested running tasks to restart');
    this.stage = 'init';
    await this.crew.restartFromBegin('User requested all tasks to restart');
  }

  /** AG-165: to one task, or with an empty name to all. @throws Refusal, TaskNotRunningError, the driver's error */
  signal(taskName: string, signal: string): Promise<void> {
    return this.crew.signal(taskName, signal);
  }

  /** AG-324: a command beside a task. @throws Refusal, NoExecError, what the driver says */
  exec(taskName: string, command: ExecCommand): Promise<ExecSession> {
    return this.crew.exec(taskName, command);
  }

  /** What its running tasks use, or one of them (AG-330). @throws Refusal for a task that it does not have */
  async usage(taskName: string): Promise<AllocResourceUsage> {
    if (taskName !== '' && !this.crew.runner(taskName))
      throw new Refusal('not-found', `allocation "${this.current.ID}" has no task "${taskName}"`);
    return usageOfAlloc(await this.crew.usage(taskName), nsFromMs(this.deps.clock.nowMs()));
  }

  /** How far it is, for those who count what is on this machine. */
  counted(): CountedAlloc {
    const { waitsFor } = this;
    return { alloc: this.current, status: this.progress.status().ClientStatus, waitsFor, tasks: this.crew.states() };
  }

  /** The last results of its checks (AG-146). */
  checks(): Record<string, AllocCheckStatus> {
    return this.services.checks();
  }

  /** Kills what runs (AG-150); resolves when every task is dead. */
  async kill(details: Record<string, string> = {}): Promise<void> {
    if (!this.isOver) await this.stopping.begin(details);
    await this.ended.opened;
  }

  /** Kills what runs and removes all of it from this machine (AG-45, AG-223). */
  async destroy(): Promise<void> {
    this.progress.forget();
    this.health.stop();
    await this.services.withdraw();
    await this.crew.killAll();
    this.services.close();
    await this.storage.end();
    await this.inheriting;
    await this.deps.directories.remove(this.current.ID);
    // Last: an agent that dies before finds what is left, and removes it then.
    await this.deps.records.remove(this.current.ID);
  }

  /** The agent ends and its tasks must not outlive it: puts them down without an end. */
  async suspend(): Promise<void> {
    this.progress.silence();
    this.health.stop();
    await this.services.withdraw();
    this.services.close();
    this.storage.close();
    await this.crew.suspend();
  }

  /** AG-65. */
  acknowledge(update: ClientAllocUpdate): void {
    this.progress.acknowledge(update);
  }

  /** Its state as the servers are told it. */
  report(): ClientAllocUpdate {
    return this.progress.report();
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
    this.stopping.keepTime(jobOf(this.current).Type);
    this.watchHealth();
    void this.whenPredecessorsEnded();
    this.changed();
    await over;
    this.notice.set('');
    this.stopping.forgetTime();
    this.health.stop();
    if (this.progress.isSilent) return;
    this.ended.open();
    void this.giveBack();
  }

  /** AG-90, AG-295: nobody waits for it to be told that the tasks have ended. What fails is logged by whoever it failed. */
  private async giveBack(): Promise<void> {
    await this.offer.withdrawn();
    await this.storage.release();
  }

  /** AG-53, AG-80; the group's services are there before its tasks (AG-141), and so are its volumes. */
  private async whenPredecessorsEnded(): Promise<void> {
    const { PreviousAllocation, PreemptedAllocations } = this.current;
    const predecessors = [PreviousAllocation, ...PreemptedAllocations].filter((id) => id !== '');
    this.noteWait(predecessors.length > 0 ? `the end of allocation ${predecessors.join(', ')}` : 'its end from before');
    await this.deps.predecessorsEnded(this.current);
    this.waitsFor = 'disk';
    this.noteWait(`the disk of allocation ${PreviousAllocation}`);
    const isWantedHere = (): boolean => !this.stopping.isBegun && this.progress.isTold;
    if (!this.hasDisk) this.inheriting = inheritDisk(this.deps, this.current, this.group, isWantedHere);
    await this.inheriting;
    this.waitsFor = null;
    const isWanted = !this.stopping.isBegun && !this.crew.isDead; // AG-82
    if (isWanted && !(await this.prepared())) return;
    this.notice.set('');
    if (this.stopping.isBegun) void this.offer.shut();
    else await this.offer.open();
    this.ready.open();
    this.crew.gatesMayHaveOpened();
  }

  /** Told as an event of its tasks when it takes long: they say nothing else while they are pending. */
  private noteWait(what: string): void {
    this.notice.set(this.crew.isDead ? '' : `Waiting for ${what}`);
  }

  /** AG-81. */
  private async prepared(): Promise<boolean> {
    try {
      return await this.storage.prepare((what) => this.noteWait(what));
    } catch (error) {
      this.stopping.failSetup(`failed to setup alloc: ${errorText(error)}`);
      return false;
    }
  }

  /** AG-120 to AG-122, AG-129. */
  private watchHealth(): void {
    this.health.stop();
    if (this.stopping.isBegun || this.crew.isDead || isServerTerminal(this.current)) return;
    void this.offer.refresh(); // what is judged is known from the first look
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
    void this.progress.save();
  }

  /** A task changed: the stage, who has to go with it, the disk, the servers. */
  private changed(): void {
    if (this.progress.isSilent) return;
    void this.offer.refresh();
    this.health.look();
    this.storage.look(this.crew.states());
    const tasks = this.crew.all.map(({ kind, runner }) => ({ kind, state: runner.state }));
    this.stage = stageAfter(this.stage, tasks);
    this.crew.gatesMayHaveOpened();
    this.stopping.withThoseThatEnded();
    if (!this.progress.isTold) return;
    const trace = this.startTrace;
    if (this.progress.status().ClientStatus !== 'pending') this.firstTaskUp.open();
    void this.progress.tell(trace);
  }
}
