import type { CancelTimer, Clock, Timers } from '@waybill/model';

/**
 * Time in milliseconds that restored allocations get after the agent's start before the loss of contact counts
 * (AG-173).
 */
export const RESTORED_GRACE_MS = 50_000;
/**
 * A check that is late by more than this, in milliseconds, was not delayed by work: the clock was set, or the machine
 * was suspended.
 */
export const MAX_LATE_MS = 5_000;
/** The time in milliseconds after such a check in which a heartbeat may prove that the contact still exists. */
export const LATE_GRACE_MS = 50_000;

/** Disconnectable is an allocation whose group sets `stop_on_client_after`. */
export interface Disconnectable {
  readonly id: string;
  readonly afterMs: number;
  /** Whether it was restored when the agent started. */
  readonly isRestored: boolean;
}

/** DisconnectableAllocations are the allocations of this machine, for StopsOnDisconnect. */
export interface DisconnectableAllocations {
  /** Returns the allocations that are alive and not stopping. */
  disconnectable(): readonly Disconnectable[];
  stopDisconnected(allocId: string): void;
}

/** LastContact says when the servers were last in contact with this machine. */
export interface LastContact {
  /**
   * Unix milliseconds of the last successful registration or heartbeat; undefined if there was none since the start
   * (AG-35).
   */
  readonly lastSuccessMs: number | undefined;
}

export interface StopsOnDisconnectDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly contact: LastContact;
  readonly allocations: DisconnectableAllocations;
}

/**
 * StopsOnDisconnect stops allocations that may not outlive the contact with the servers for long (AG-171 to AG-175).
 *
 * States: stopped → watching → stopped. A successful heartbeat costs nothing here. One timer waits for the first moment
 * at which an allocation may be due. The check then reads the time of the last contact and waits for the next moment.
 * Each allocation therefore has its own moment. After the clock was set forward, the last contact seems long ago, so
 * nothing is due before a heartbeat had time to succeed. Cost of a check: O(allocations with the setting). There is no
 * timer without such allocations.
 */
export class StopsOnDisconnect {
  private startedMs: number | null = null;
  /** The time of the next check. */
  private plannedMs = Infinity;
  /** The time of the last late check. */
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

  /** Checks after new allocations, or after some time. */
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

  /** Returns when an allocation is due. It stops only after this moment, because the rule says "more than" (AG-171). */
  private dueMs({ afterMs, isRestored }: Disconnectable, startedMs: number): number {
    const sinceMs = this.deps.contact.lastSuccessMs ?? startedMs + (isRestored ? RESTORED_GRACE_MS : 0);
    return Math.max(sinceMs + afterMs, this.lateMs + Math.min(afterMs, LATE_GRACE_MS));
  }
}
