import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { LeaseStore } from './lease-store.js';

/** A lease is renewed this many times within its TTL. */
export const RENEWALS_PER_TTL = 5;
/** Share of the TTL after which a failed renewal is tried again. */
const RETRY_SHARE = 0.05;
/** Why a lease was lost that could not be renewed, and the remedy. */
const NOT_RENEWED = 'it was not renewed in time; if that repeats, raise WAYBILL_LEASE_TTL_MS';
/**
 * Share of the TTL for which the holder itself trusts the lease; the rest is time to stop before a successor can begin.
 */
export const TRUSTED_SHARE = 0.75;

export interface LeaseOptions {
  readonly store: LeaseStore;
  readonly role: string;
  /** Unique to this contender and this start of its process. */
  readonly holder: string;
  readonly ttlMs: number;
  /** A monotonic clock that continues while the process is suspended. */
  readonly clock: Clock;
  readonly timers: Timers;
  onGain(): void;
  onLoss(reason: string): void;
}

/**
 * One contender for one lease.
 *
 * Modes: waiting → asking → holding → waiting; stopped.
 * waiting: requests the lease when the store reports it as free, and once each TTL in case that report was lost; after
 * a release only when its pause is over.
 * holding: renews RENEWALS_PER_TTL times within a TTL. It trusts the lease for TRUSTED_SHARE of the TTL from the moment
 * when the last successful write was *sent*, which always ends before the store expires the lease. A failed renewal is
 * tried again until then; after that the lease is given up, whatever the store may answer later. `held` reads the clock
 * at each call, so that a process that was suspended knows of the loss before its timers fire.
 */
export class Lease {
  private revision = 0;
  private trustedUntilMs = 0;
  private mode: 'idle' | 'waiting' | 'asking' | 'holding' | 'stopped' = 'idle';
  private isPausing = false;
  /** Whether to request the lease again: it may have become free after the store's answer. */
  private mustRequestAgain = false;
  private cancelPause: CancelTimer | undefined;
  private cancelWatch: (() => void) | undefined;
  private cancelPoll: CancelTimer | undefined;
  private cancelRenew: CancelTimer | undefined;
  private cancelGiveUp: CancelTimer | undefined;

  constructor(private readonly options: LeaseOptions) {}

  /** Whether no other contender can hold the lease. Check it before every effect. */
  get held(): boolean {
    return this.mode === 'holding' && this.options.clock.nowMs() < this.trustedUntilMs;
  }

  start(): void {
    if (this.mode !== 'idle') return;
    this.mode = 'waiting';
    this.cancelWatch = this.options.store.watch(this.options.role, () => void this.requestLease());
    this.poll();
    void this.requestLease();
  }

  /** Releases the lease, and does not request it again for `pauseMs`. Does not call `onLoss`. */
  async release(pauseMs: number): Promise<void> {
    this.cancelPause?.();
    this.isPausing = true;
    this.cancelPause = this.options.timers.after(pauseMs, () => {
      this.isPausing = false;
      void this.requestLease();
    });
    if (this.mode !== 'holding') return;
    this.mode = 'waiting';
    await this.handBack();
  }

  /** Releases the lease and never requests it again. Does not call `onLoss`. */
  async stop(): Promise<void> {
    const held = this.mode === 'holding';
    this.mode = 'stopped';
    this.cancelWatch?.();
    this.cancelPoll?.();
    this.cancelPause?.();
    if (held) await this.handBack();
  }

  private poll(): void {
    this.cancelPoll = this.options.timers.after(this.options.ttlMs, () => {
      void this.requestLease();
      this.poll();
    });
  }

  private async requestLease(): Promise<void> {
    const { store, role, holder, ttlMs, clock } = this.options;
    const sentMs = clock.nowMs();
    if (this.mode === 'asking') this.mustRequestAgain = true;
    if (this.mode !== 'waiting' || this.isPausing) return;
    this.mode = 'asking';
    this.mustRequestAgain = false;
    let revision: number | undefined;
    try {
      revision = await store.acquire(role, holder, ttlMs);
    } catch {
      revision = undefined; // the store is unreachable: the poll asks again
    }
    if (this.isStopped()) {
      if (revision !== undefined) await store.release(role, revision).catch(() => {});
      return;
    }
    this.mode = 'waiting';
    if (revision === undefined) {
      if (this.mustRequestAgain) void this.requestLease();
      return;
    }
    this.mode = 'holding';
    this.trust(revision, sentMs);
    if (!this.held) {
      // The answer came too late: the trust in it would be over already.
      this.lose('the store answered too late');
      return;
    }
    this.renewAfter(sentMs);
    this.options.onGain();
  }

  /**
   * Schedules the renewal. It counts from when the last write was sent, as the trust does: slow answers make it renew
   * sooner.
   */
  private renewAfter(sentMs: number): void {
    const { ttlMs, clock } = this.options;
    this.scheduleRenewal(Math.max(0, sentMs + ttlMs / RENEWALS_PER_TTL - clock.nowMs()));
  }

  private scheduleRenewal(afterMs: number): void {
    this.cancelRenew = this.options.timers.after(afterMs, () => void this.renew());
  }

  private async renew(): Promise<void> {
    const { store, role, holder, ttlMs, clock } = this.options;
    if (!this.held) {
      this.lose(NOT_RENEWED);
      return;
    }
    const { revision } = this;
    const sentMs = clock.nowMs();
    let renewed: number | 'unreachable' | undefined;
    try {
      renewed = await store.renew(role, holder, ttlMs, revision);
    } catch {
      renewed = 'unreachable';
    }
    // The lease was lost, released or taken anew while this answer was awaited: the answer is about an old lease.
    if (this.isNot('holding') || this.revision !== revision) return;
    if (renewed === 'unreachable') {
      this.scheduleRenewal(ttlMs * RETRY_SHARE); // until the trusted time is over
      return;
    }
    if (renewed === undefined) {
      this.lose('it is not ours any more');
      return;
    }
    this.trust(renewed, sentMs);
    this.renewAfter(sentMs);
  }

  private trust(revision: number, sentMs: number): void {
    this.revision = revision;
    this.trustedUntilMs = sentMs + this.options.ttlMs * TRUSTED_SHARE;
    this.cancelGiveUp?.();
    const trustedMs = this.trustedUntilMs - this.options.clock.nowMs();
    // Also if the clock lacks a moment.
    this.cancelGiveUp = this.options.timers.after(trustedMs, () => this.lose(NOT_RENEWED));
  }

  private lose(reason: string): void {
    this.mode = 'waiting';
    this.forget();
    this.options.onLoss(reason);
  }

  private async handBack(): Promise<void> {
    const { revision } = this;
    this.forget();
    await this.options.store.release(this.options.role, revision).catch(() => {}); // the lease expires by itself
  }

  private forget(): void {
    this.cancelRenew?.();
    this.cancelGiveUp?.();
    this.revision = 0;
    this.trustedUntilMs = 0;
  }

  // The mode may have changed during an await, which the compiler does not know.
  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
  private isNot(mode: Lease['mode']): boolean {
    return this.mode !== mode;
  }
}
