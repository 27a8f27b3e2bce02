import type { CancelTimer, Clock, Timers } from '@waybill/model';

/** Time that restored allocations get after the agent's start before the loss of contact counts (AG-173). */
export const RESTORED_GRACE_MS = 50_000;
/** A look that comes later than this was not held up by work: the clock was set, or the machine stood still. */
export const MAX_LATE_MS = 5_000;
/** How long after that a heartbeat may take to tell which of them it was. */
export const LATE_GRACE_MS = 50_000;

/** An allocation whose group says `stop_on_client_after`. */
export interface Disconnectable {
  readonly id: string;
  readonly afterMs: number;
  /** It was taken up again when the agent started. */
  readonly isRestored: boolean;
}

/** The allocations of this machine, for those who stop the disconnected ones. */
export interface DisconnectableAllocations {
  /** Those that live and are not on their way down. */
  disconnectable(): readonly Disconnectable[];
  stopDisconnected(allocId: string): void;
}

/** When the servers were last in contact with this machine. */
export interface LastContact {
  /** Unix milliseconds of the last good registration or heartbeat; undefined: none since the start (AG-35). */
  readonly lastSuccessMs: number | undefined;
}

export interface StopsOnDisconnectDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly contact: LastContact;
  readonly allocations: DisconnectableAllocations;
}

/**
 * Stops what may not outlive the contact with the servers for long (AG-171 to AG-175).
 *
 * stopped → watching → stopped. A good heartbeat costs nothing here: one timer waits for the first moment at which an
 * allocation could be due, looks then when the contact really was, and waits for the next. So each has its own moment,
 * whatever the others' are. When the clock was set forward the contact seems long ago: nothing is due before a heartbeat
 * had the time to say otherwise. Cost of a look: O(allocations with the setting); no timer while there are none.
 */
export class StopsOnDisconnect {
  private startedMs: number | null = null;
  /** When the next look is due. */
  private plannedMs = Infinity;
  /** Time of the last look that came late. */
  private lateMs = -Infinity;
  private cancel: CancelTimer = () => {};

  constructor(private readonly deps: StopsOnDisconnectDependencies) {}

  start(): void {
    this.startedMs = this.deps.clock.nowMs();
    this.stopOverdue();
  }

  stop(): void {
    this.startedMs = null;
    this.cancel();
  }

  /** Allocations came, or time has passed. */
  stopOverdue(): void {
    this.cancel();
    if (this.startedMs === null) return;
    const nowMs = this.deps.clock.nowMs();
    if (nowMs - this.plannedMs > MAX_LATE_MS) this.lateMs = nowMs;
    let nextMs = Infinity;
    for (const alloc of this.deps.allocations.disconnectable()) {
      const dueMs = this.dueMs(alloc, this.startedMs);
      if (dueMs < nowMs) this.deps.allocations.stopDisconnected(alloc.id);
      else nextMs = Math.min(nextMs, dueMs + 1);
    }
    this.plannedMs = nextMs;
    if (nextMs < Infinity) this.cancel = this.deps.timers.after(nextMs - nowMs, () => this.stopOverdue());
  }

  /** "More than that" ago (AG-171): in the moment itself nothing is due yet. */
  private dueMs({ afterMs, isRestored }: Disconnectable, startedMs: number): number {
    const sinceMs = this.deps.contact.lastSuccessMs ?? startedMs + (isRestored ? RESTORED_GRACE_MS : 0);
    return Math.max(sinceMs + afterMs, this.lateMs + Math.min(afterMs, LATE_GRACE_MS));
  }
}
