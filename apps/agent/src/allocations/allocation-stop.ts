import {
  type Allocation,
  type CancelTimer,
  type Clock,
  isClientTerminal,
  msFromNs,
  type TaskGroup,
  type Timers,
} from '@waybill/model';
import { type Gate, pause } from '../waiting/gate.js';
import type { TaskCrew } from '../tasks/task-crew.js';

/** AG-77: the description of an allocation whose time was over, and the reason of its kill. */
export const EXPIRED = 'allocation exceeded max_run_duration';

export interface AllocStopDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly deadlines: Timers;
  /** As the servers want it now. */
  readonly group: () => TaskGroup;
  readonly alloc: () => Allocation;
  readonly crew: TaskCrew;
  /** Open when all its tasks have ended. */
  readonly ended: Gate;
  /** AG-154: open when the servers want its delays skipped. */
  readonly delaysSkipped: Gate;
  /** The first thing of a way down (AG-127). */
  readonly begun: () => void;
  /** AG-142: the group's services are offered no longer. Resolves when the servers know, or took too long. */
  readonly withdrawGroup: () => Promise<void>;
}

/**
 * The way down of one allocation: up → stopping, once and for good, because somebody kills it, its time is over, or some
 * of its tasks take the others along. What its tasks do meanwhile is theirs (task-stop.ts). One timer, for its time.
 */
export class AllocStop {
  private begun = false;
  private expired: boolean;
  private cancelExpiry: CancelTimer = () => {};

  constructor(
    private readonly deps: AllocStopDependencies,
    wasExpired: boolean,
  ) {
    this.expired = wasExpired;
  }

  get isBegun(): boolean {
    return this.begun;
  }

  get isExpired(): boolean {
    return this.expired;
  }

  /** AG-150; resolves when all that lived when it began are on their way. Further ones change nothing. */
  async begin(details: Record<string, string> = {}): Promise<void> {
    if (this.begun) return;
    this.begun = true;
    await this.inOrder(details);
  }

  /** AG-81: what all tasks need cannot be had. */
  failSetup(reason: string): void {
    if (this.begun) return;
    this.begun = true;
    this.deps.crew.failSetup(reason);
  }

  /** AG-84 to AG-88: those that must not outlive another task. */
  withThoseThatEnded(): void {
    const departure = this.begun ? null : this.deps.crew.departure();
    if (!departure) return;
    this.begun = true;
    this.deps.crew.emitToLive(departure.type, departure.details);
    void this.inOrder({});
  }

  /**
   * AG-77. Counts from the servers' time of making it, so it survives restarts of the agent. Called again, by what its
   * group says then: an update in place may have given it another time (SC-254).
   */
  keepTime(jobType: string): void {
    this.cancelExpiry();
    const { MaxRunDuration } = this.deps.group();
    if (MaxRunDuration === null || MaxRunDuration <= 0 || (jobType !== 'batch' && jobType !== 'sysbatch')) return;
    const atMs = msFromNs(this.deps.alloc().CreateTime + MaxRunDuration);
    const { deadlines, clock } = this.deps;
    this.cancelExpiry = deadlines.after(atMs - clock.nowMs(), () => this.expire());
  }

  /** It has ended. */
  forgetTime(): void {
    this.cancelExpiry();
  }

  /** AG-142, AG-154: the services of the group, then its delay: before a kill and before a restart of several tasks. */
  async groupGoesDown(): Promise<void> {
    const { crew, delaysSkipped, ended, group, timers } = this.deps;
    await this.deps.withdrawGroup();
    const delayMs = msFromNs(group().ShutdownDelay ?? 0);
    const isRunning = crew.live.some(({ runner }) => runner.state.State === 'running');
    if (delayMs <= 0 || !isRunning || delaysSkipped.isOpen) return;
    await pause(timers, delayMs, ended, delaysSkipped);
  }

  /** What is on its way down already ends by what took it there. */
  private expire(): void {
    if (this.begun) return;
    this.expired = true;
    void this.begin({ kill_reason: EXPIRED });
  }

  private async inOrder(details: Record<string, string>): Promise<void> {
    this.deps.begun();
    await this.groupGoesDown();
    await this.deps.crew.killInOrder(details);
    // AG-95: what the servers count as lost, or had its time, has nothing more to do.
    if (isClientTerminal(this.deps.alloc()) || this.expired) await this.deps.crew.killAll();
  }
}
