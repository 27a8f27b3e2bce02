import {
  type AllocCheckStatus,
  type Allocation,
  type CancelTimer,
  type ClientAllocUpdate,
  type Clock,
  findTaskGroup,
  isClientTerminal,
  isServerTerminal,
  type Job,
  msFromNs,
  nestedList,
  nsFromMs,
  rfc3339FromMs,
  type TaskGroup,
  type TaskState,
  type Timers,
} from '@waybill/model';
import type { AllocResourceUsage, TaskResourceUsage } from '@waybill/rpc';
import { type Logger, traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';
import type { AllocRecord, AllocRecords } from './alloc-record.js';
import { type AllocStatus, statusOfTasks, withEnds } from './alloc-status.js';
import { usageOfAlloc } from './alloc-usage.js';
import type { Driver } from './drivers/driver.js';
import { Gate } from './gate.js';
import { type Health, healthTermsOf, HealthWatch } from './health-watch.js';
import { AllocServices } from './services/alloc-services.js';
import type { Probe } from './services/probe.transport.js';
import type { ServiceRegistry } from './services/service-registry.js';
import { servicesOf } from './services/workload-service.js';
import { RestartTracker } from './restart-tracker.js';
import { isGateOpen, isSidecar, kindOf, restartsOnSuccess, type Stage, stageAfter } from './task-lifecycle.js';
import { TaskPreparation, type TaskPreparationDependencies, type WantedTask } from './task-preparation.js';
import { TaskNotRunningError, TaskRunner } from './task-runner.js';

/** What all allocations of an agent share. */
export interface AllocRunnerDependencies extends TaskPreparationDependencies {
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly records: AllocRecords;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly serversAsked: Gate;
  readonly registry: ServiceRegistry;
  readonly probe: Probe;
  /** Resolves when the allocations of this machine that this one replaces or preempted have ended (AG-53). */
  readonly predecessorsEnded: (alloc: Allocation) => Promise<void>;
  /** A state to be told to the servers; it is on disk. */
  readonly report: (update: ClientAllocUpdate, traceparent: string | undefined) => void;
}

/** AG-47: this agent can make nothing of an allocation. */
export class AllocNotRunnableError extends Error {
  override readonly name = 'AllocNotRunnableError';
}

/** What was asked of the allocation cannot be done to it as it is; the message is for the asker. */
export class AllocActionError extends Error {
  override readonly name = 'AllocActionError';
}

const EXPIRED = 'allocation exceeded max_run_duration';

/** One task of the group, with its place in the lifecycle. */
type Member = { readonly runner: TaskRunner; readonly kind: ReturnType<typeof kindOf> };

/**
 * One allocation on this machine (agent.md section 9).
 *
 * new → running → ended → destroyed. running: every task has a runner (task-runner.ts); the stage of the lifecycle says
 * which may start. running → ended: every task is dead, by itself or killed because the servers want it stopped, a task
 * failed, the leader ended, its time is over (AG-77), or only sidecars are left. A restart of all tasks begins the
 * lifecycle again, from `init`. Beside that its health is watched once (health-watch.ts). Restored: the same from what is on disk, from stage `prestart`.
 * suspended: the agent put it down on its way out; nothing changes or is told any more.
 *
 * Every change is first on disk, then reported (AG-191). The work of one allocation never waits for another's.
 * Cost of a change: O(tasks of the group) and one write of its record.
 */
export class AllocRunner {
  readonly ended = new Gate();
  private readonly members = new Map<string, Member>();
  private readonly group: TaskGroup;
  private stage: Stage;
  private acknowledged: ClientAllocUpdate | null;
  private health: AllocRecord['health'];
  private watch: HealthWatch | null = null;
  /** AG-154: the servers want the delays of a kill skipped. */
  private readonly delaysSkipped = new Gate();
  /** Its predecessors on this machine have ended, or it is killed: tasks may start (AG-53). */
  private readonly ready = new Gate();
  private readonly services: AllocServices;
  /** The services of the group are offered. */
  private isOffered: boolean;
  private isExpired: boolean;
  private isKilling = false;
  private isSuspended = false;
  private isDestroyed = false;
  private firstTaskUp = new Gate();
  private startTrace: string | undefined;

  /** @throws AllocNotRunnableError */
  constructor(
    private current: Allocation,
    private readonly deps: AllocRunnerDependencies,
    restored?: AllocRecord,
  ) {
    const job = jobOf(current);
    const group = findTaskGroup(job, current.TaskGroup);
    if (!group) throw new AllocNotRunnableError(`job "${job.ID}" has no task group "${current.TaskGroup}"`);
    this.group = group;
    this.stage = restored ? 'prestart' : 'init';
    this.acknowledged = restored?.acknowledged ?? null;
    this.health = restored?.health ?? healthOf(current);
    this.isExpired = restored?.expired ?? false;
    this.isOffered = restored !== undefined;
    if (current.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
    const checksChanged = () => {
      this.watch?.look();
      void this.save();
    };
    this.services = new AllocServices({ ...deps, allocId: current.ID, changed: checksChanged }, restored?.services);
    for (const task of group.Tasks) this.members.set(task.Name, this.memberOf(task.Name, job, restored));
  }

  get alloc(): Allocation {
    return this.current;
  }

  get isOver(): boolean {
    return this.ended.isOpen;
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
    if (reconnects) for (const { runner } of this.liveMembers()) runner.emit('Reconnected');
    else {
      this.takeOverTasks();
      this.health = alloc.DeploymentID === before.DeploymentID ? (this.health ?? healthOf(alloc)) : null;
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
    if (taskName !== '') return this.restartTask(taskName);
    await this.groupDelay();
    if (this.isKilling || this.isOver) return; // the kill wins (AG-166)
    const members = [...this.members.values()];
    if (allTasks) {
      this.stage = 'init';
      const reason = 'User requested all tasks to restart';
      const restarted = members.filter(({ kind }) => kind !== 'poststop');
      await Promise.all(restarted.map(({ runner }) => runner.restartFromBegin(reason)));
    } else {
      const reason = 'User requested running tasks to restart';
      await Promise.all(
        members.map(({ runner }) =>
          runner.restart(reason).catch((error: unknown) => {
            if (!(error instanceof TaskNotRunningError)) throw error;
          }),
        ),
      );
    }
  }

  /** AG-165: to one task, or with an empty name to all. @throws AllocActionError, TaskNotRunningError, the driver's error */
  async signal(taskName: string, signal: string): Promise<void> {
    if (taskName !== '') {
      const member = this.members.get(taskName);
      if (!member) throw new AllocActionError('Task not found');
      return member.runner.signal(signal);
    }
    const errors: string[] = [];
    for (const [name, { runner }] of this.members) {
      await runner.signal(signal).catch((error: unknown) => {
        errors.push(`Failed to signal task: ${name}, err: ${error instanceof Error ? error.message : String(error)}`);
      });
    }
    if (errors.length > 0) throw new AllocActionError(nestedList(errors));
  }

  /** What its running tasks use, or one of them (AG-330). @throws AllocActionError for a task that it does not have */
  async usage(taskName: string): Promise<AllocResourceUsage> {
    if (taskName !== '' && !this.members.has(taskName))
      throw new AllocActionError(`allocation "${this.current.ID}" has no task "${taskName}"`);
    const tasks: Record<string, TaskResourceUsage> = {};
    await Promise.all(
      [...this.members].map(async ([name, { runner }]) => {
        const usage = taskName === '' || name === taskName ? await runner.usage() : undefined;
        if (usage) tasks[name] = usage;
      }),
    );
    return usageOfAlloc(tasks, nsFromMs(this.deps.clock.nowMs()));
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
    this.watch?.stop();
    await this.services.withdraw();
    for (const { runner } of this.members.values()) if (!runner.isDead) void runner.kill();
    await Promise.all([...this.members.values()].map(({ runner }) => runner.ended.opened));
    this.services.close();
    await this.deps.records.remove(this.current.ID);
    await this.deps.directories.remove(this.current.ID);
  }

  /** The agent ends and its tasks must not outlive it: puts them down without an end. */
  async suspend(): Promise<void> {
    this.isSuspended = true;
    this.watch?.stop();
    await this.services.withdraw();
    this.services.close();
    await Promise.all([...this.members.values()].map(({ runner }) => runner.suspend()));
  }

  /** AG-65. */
  acknowledge(update: ClientAllocUpdate): void {
    this.acknowledged = update;
    if (!this.isDestroyed && !this.isSuspended) void this.save();
  }

  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.acknowledged;
  }

  /** Its state as the servers are told it. */
  report(): ClientAllocUpdate {
    const states = this.states();
    const status = this.status();
    const nowMs = this.deps.clock.nowMs();
    if (status.ClientStatus === 'failed' && this.current.DeploymentID !== '' && this.health === null)
      this.health = { Healthy: false, Timestamp: rfc3339FromMs(nowMs) };
    return {
      ID: this.current.ID,
      NodeID: this.current.NodeID,
      ...status,
      TaskStates: withEnds(states, status.ClientStatus, rfc3339FromMs(nowMs)),
      DeploymentStatus: this.health,
      NetworkStatus: this.current.NetworkStatus,
      ModifyTime: 0,
    };
  }

  private async live(traceparent: string | undefined): Promise<void> {
    const { ID, TaskGroup, JobID, Namespace } = this.current;
    const attributes = { 'alloc.id': ID, 'job.id': JobID, 'job.namespace': Namespace, 'job.group': TaskGroup };
    for (const { runner } of this.members.values()) void runner.run();
    const over = this.untilOver();
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
    this.watch?.stop();
    if (!this.isSuspended) this.ended.open();
  }

  /** Until no task lives; one that ended may be revived by a restart of all while others live. */
  private async untilOver(): Promise<void> {
    const runners = [...this.members.values()].map(({ runner }) => runner);
    do await Promise.all(runners.map((runner) => runner.ended.opened));
    while (!runners.every((runner) => runner.ended.isOpen));
  }

  /** AG-53; the group's services are there before its tasks (AG-141). */
  private async whenPredecessorsEnded(): Promise<void> {
    await this.deps.predecessorsEnded(this.current);
    this.isOffered = true;
    await this.offerServices();
    this.ready.open();
    for (const { runner } of this.members.values()) runner.gateMayHaveOpened();
  }

  /** AG-140 to AG-144: what is up is offered. */
  private offerServices(): Promise<void> {
    const { region, hostEnv } = this.deps;
    const place = { alloc: this.current, job: jobOf(this.current), node: this.deps.node(), region, hostEnv };
    const isUp = (task: string): boolean =>
      task === '' ? this.isOffered && !this.isEnded() : this.members.get(task)?.runner.state.State === 'running';
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

  /** AG-120 to AG-122, AG-129: begins from the beginning, if there is anything to judge. */
  private watchHealth(): void {
    this.watch?.stop();
    this.watch = null;
    const inDeployment = this.current.DeploymentID !== '';
    const job = jobOf(this.current);
    const group = findTaskGroup(job, this.current.TaskGroup) ?? this.group;
    const terms = healthTermsOf(group, job.Type, inDeployment);
    const isDecided = this.health !== null || this.isKilling || this.isEnded() || isServerTerminal(this.current);
    if (!terms || isDecided) return;
    const watched = () => ({
      tasks: [...this.members].map(([name, { kind, runner }]) => ({ name, kind, state: runner.state })),
      checks: this.services.watched(),
    });
    const { clock, timers } = this.deps;
    void this.offerServices(); // what is judged is known from the first look
    this.watch = new HealthWatch(terms, watched, clock, timers, (health) => this.judged(health, inDeployment));
    this.watch.look();
  }

  /** AG-128. */
  private judged({ healthy, because }: Health, inDeployment: boolean): void {
    this.health = { Healthy: healthy, Timestamp: rfc3339FromMs(this.deps.clock.nowMs()) };
    if (inDeployment)
      for (const [name, message] of Object.entries(because))
        this.members.get(name)?.runner.emit('Alloc Unhealthy', { message });
    this.changed();
  }

  /** A task changed: the stage, who has to go with it, the disk, the servers. */
  private changed(): void {
    if (this.isSuspended) return;
    void this.offerServices();
    this.watch?.look();
    this.stage = stageAfter(
      this.stage,
      [...this.members.values()].map(({ kind, runner }) => ({ kind, state: runner.state })),
    );
    for (const { runner } of this.members.values()) runner.gateMayHaveOpened();
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
        {
          alloc: this.current.ID,
          error,
        },
      );
    }
  }

  private record(): AllocRecord {
    const tasks = Object.fromEntries([...this.members].map(([name, { runner }]) => [name, runner.record()]));
    return {
      version: 1,
      alloc: this.current,
      tasks,
      health: this.health,
      expired: this.isExpired,
      services: this.services.record(),
      acknowledged: this.acknowledged,
    };
  }

  /** AG-84 to AG-88. */
  private killDependants(): void {
    if (this.isKilling) return;
    const members = [...this.members.values()].filter(({ kind }) => kind !== 'poststop');
    const live = members.filter(({ runner }) => !runner.isDead);
    if (live.length === 0 || live.length === members.length) return;
    const leader = members.find(({ runner }) => runner.task.Leader && runner.isDead && !runner.state.Failed);
    const failed = members.find(({ runner }) => runner.isDead && runner.state.Failed);
    if (leader) this.killBecause('Leader Task Dead', {});
    else if (failed) this.killBecause('Sibling Task Failed', { failed_sibling: failed.runner.task.Name });
    else if (live.every(({ kind }) => isSidecar(kind))) this.killBecause('Main Tasks Dead', {});
  }

  private killBecause(type: string, details: Record<string, string>): void {
    this.isKilling = true;
    for (const { runner } of this.liveMembers()) runner.emit(type, details);
    void this.killInOrder({});
  }

  /** AG-150: the group's delay, the leader, the others together, the sidecars together; poststop tasks run after them. */
  private async killInOrder(details: Record<string, string>): Promise<void> {
    this.watch?.stop(); // AG-127
    await this.services.withdraw(); // AG-142
    if (this.liveMembers().some(({ runner }) => runner.state.State === 'running')) await this.groupDelay();
    const waves: ((member: Member) => boolean)[] = [
      ({ runner }) => runner.task.Leader,
      ({ kind }) => !isSidecar(kind),
      ({ kind }) => isSidecar(kind),
    ];
    for (const wave of waves)
      await Promise.all(
        this.liveMembers()
          .filter(wave)
          .map(({ runner }) => runner.kill(details)),
      );
    // AG-95: what the servers count as lost, or had its time, has nothing more to do.
    if (isClientTerminal(this.current) || this.isExpired)
      await Promise.all([...this.members.values()].map(({ runner }) => runner.kill()));
  }

  /** AG-154: the group's delay, before a kill or a restart of several tasks; skipped when the servers say so. */
  private async groupDelay(): Promise<void> {
    const delayMs = msFromNs(this.group.ShutdownDelay ?? 0);
    if (delayMs <= 0 || this.delaysSkipped.isOpen) return;
    await new Promise<void>((resolve) => {
      const cancel = this.deps.timers.after(delayMs, resolve);
      void Promise.race([this.ended.opened, this.delaysSkipped.opened]).then(() => {
        cancel();
        resolve();
      });
    });
  }

  private restartTask(name: string): Promise<void> {
    const member = this.members.get(name);
    if (!member) throw new AllocActionError(`Could not find task runner for task: ${name}`);
    return member.runner.restart('User requested task to restart');
  }

  /** Tasks that are not dead, without those that run after all others. */
  private liveMembers(): Member[] {
    return [...this.members.values()].filter(({ kind, runner }) => kind !== 'poststop' && !runner.isDead);
  }

  private states(): Record<string, TaskState> {
    return Object.fromEntries([...this.members].map(([name, { runner }]) => [name, runner.state]));
  }

  private status(): AllocStatus {
    const isExpired = this.isExpired && this.isEnded();
    return isExpired ? { ClientStatus: 'complete', ClientDescription: EXPIRED } : statusOfTasks(this.states());
  }

  private isEnded(): boolean {
    return [...this.members.values()].every(({ runner }) => runner.isDead);
  }

  /** AG-115: an update in place never restarts a task; it gives it new terms. */
  private takeOverTasks(): void {
    const group = findTaskGroup(jobOf(this.current), this.current.TaskGroup);
    for (const task of group?.Tasks ?? []) {
      const member = this.members.get(task.Name);
      if (!member) continue;
      member.runner.task = task;
      member.runner.restarts.policy = task.RestartPolicy;
    }
  }

  private memberOf(name: string, job: Job, restored: AllocRecord | undefined): Member {
    const task = this.group.Tasks.find((one) => one.Name === name);
    const driver = task && this.deps.drivers.get(task.Driver);
    if (!task || !driver)
      throw new AllocNotRunnableError(`failed to create task runner: task driver "${task?.Driver ?? ''}" is not known`);
    const kind = kindOf(task);
    const { clock, timers, newId, random, serversAsked } = this.deps;
    const restarts = new RestartTracker(task.RestartPolicy, restartsOnSuccess(kind, job.Type), clock, random);
    const preparation = new TaskPreparation(this.deps);
    const runner: TaskRunner = new TaskRunner(
      task,
      {
        allocId: this.current.ID,
        driver,
        clock,
        timers,
        newId,
        logger: this.deps.logger,
        restarts,
        configure: (taskId) => preparation.configure(taskId, this.wanted(name)),
        prestart: (config, signal) =>
          preparation.prestart(config, this.wanted(name), signal, (type, details) => runner.emit(type, details)),
        isWanted: () => kind === 'poststop' || !isServerTerminal(this.current),
        mayStart: () => this.ready.isOpen && isGateOpen(this.stage, kind),
        delaysSkipped: this.delaysSkipped,
        serversAsked,
        asksAfterLoss: job.Type !== 'system',
        save: () => this.save(),
        changed: () => this.changed(),
      },
      restored?.tasks[name],
    );
    return { runner, kind };
  }

  private wanted(name: string): WantedTask {
    const task = this.members.get(name)?.runner.task;
    if (!task) throw new AllocNotRunnableError(`no task "${name}"`);
    return { alloc: this.current, job: jobOf(this.current), task };
  }
}

/** A health that was set already (AG-122). */
function healthOf({ DeploymentStatus }: Allocation): AllocRecord['health'] {
  if (!DeploymentStatus || DeploymentStatus.Healthy === null) return null;
  return { Healthy: DeploymentStatus.Healthy, Timestamp: DeploymentStatus.Timestamp };
}

function jobOf(alloc: Allocation): Job {
  if (!alloc.Job) throw new AllocNotRunnableError('the allocation came without its job');
  return alloc.Job;
}

/** AG-47: what the servers are told of an allocation that this agent can make nothing of. */
export function notRunnable(alloc: Allocation, error: unknown, now: string): ClientAllocUpdate {
  return {
    ID: alloc.ID,
    NodeID: alloc.NodeID,
    ClientStatus: 'failed',
    ClientDescription: `Unable to add allocation due to error: ${error instanceof Error ? error.message : String(error)}`,
    TaskStates: withEnds(alloc.TaskStates, 'failed', now),
    DeploymentStatus: healthOf(alloc) ?? { Healthy: false, Timestamp: now },
    NetworkStatus: alloc.NetworkStatus,
    ModifyTime: 0,
  };
}
