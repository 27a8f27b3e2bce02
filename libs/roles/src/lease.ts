import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { LeaseStore } from './lease-store.js';

/** A lease is renewed this many times within its TTL. */
export const RENEWALS_PER_TTL = 5;
/** A renewal that failed is tried again after this part of the TTL. */
const RETRY_SHARE = 0.05;
/** Why a lease is lost that could not be renewed, and what to do. */
const NOT_RENEWED = 'it was not renewed in time; if that repeats, raise WAYBILL_LEASE_TTL_MS';
/** Of the TTL, how much the holder itself counts on; the rest is time to stop before a successor can begin. */
export const TRUSTED_SHARE = 0.75;

export interface LeaseOptions {
  readonly store: LeaseStore;
  readonly role: string;
  /** Unique to this contender and this start of its process. */
  readonly holder: string;
  readonly ttlMs: number;
  /** Monotonic, and going on while the process is frozen. */
  readonly clock: Clock;
  readonly timers: Timers;
  onGain(): void;
  onLoss(reason: string): void;
}

/**
 * One contender for one lease.
 *
 * waiting → asking → holding → waiting; stopped.
 * waiting: asks when the store says that the lease is free, and once per TTL in case that was missed; after a release only
 * when its pause is over.
 * holding: renews RENEWALS_PER_TTL times per TTL. It trusts the lease for TRUSTED_SHARE of the TTL from the moment the
 * last successful write was *sent*; that is always over before the store lets go. A renewal that fails is tried again
 * until then; after that the lease is given up, whatever the store may say later.
 * `held` looks at the clock each time: a process that was frozen knows it before its timers do.
 */
export class Lease {
  private revision = 0;
  private trustedUntilMs = 0;
  private mode: 'idle' | 'waiting' | 'asking' | 'holding' | 'stopped' = 'idle';
  private isPausing = false;
  /** There is reason to ask again: the lease became free after the store had looked, perhaps. */
  private asksAgain = false;
  private cancelPause: CancelTimer | undefined;
  private cancelWatch: (() => void) | undefined;
  private cancelPoll: CancelTimer | undefined;
  private cancelRenew: CancelTimer | undefined;
  private cancelGiveUp: CancelTimer | undefined;

  constructor(private readonly options: LeaseOptions) {}

  /** True as long as nobody else can have it. To be asked before every effect. */
  get held(): boolean {
    return this.mode === 'holding' && this.options.clock.nowMs() < this.trustedUntilMs;
  }

  start(): void {
    if (this.mode !== 'idle') return;
    this.mode = 'waiting';
    this.cancelWatch = this.options.store.watch(this.options.role, () => void this.ask());
    this.poll();
    void this.ask();
  }

  /** Gives the lease back, and does not ask for it again for `pauseMs`. No `onLoss`. */
  async release(pauseMs: number): Promise<void> {
    this.cancelPause?.();
    this.isPausing = true;
    this.cancelPause = this.options.timers.after(pauseMs, () => {
      this.isPausing = false;
      void this.ask();
    });
    if (this.mode !== 'holding') return;
    this.mode = 'waiting';
    await this.handBack();
  }

  /** Gives it back and never asks again. No `onLoss`. */
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
      void this.ask();
      if (this.mode !== 'stopped') this.poll();
    });
  }

  private async ask(): Promise<void> {
    const { store, role, holder, ttlMs, clock } = this.options;
    const sentMs = clock.nowMs();
    if (this.mode === 'asking') this.asksAgain = true;
    if (this.mode !== 'waiting' || this.isPausing) return;
    this.mode = 'asking';
    this.asksAgain = false;
    let revision: number | undefined;
    try {
      revision = await store.acquire(role, holder, ttlMs);
    } catch {
      revision = undefined; // not reachable: the poll asks again
    }
    if (this.isStopped()) {
      if (revision !== undefined) await store.release(role, revision).catch(() => {});
      return;
    }
    this.mode = 'waiting';
    if (revision === undefined) {
      if (this.asksAgain) void this.ask();
      return;
    }
    this.mode = 'holding';
    this.trust(revision, sentMs);
    if (!this.held) {
      // The answer took so long that it is worth nothing.
      this.lose('the store answered too late');
      return;
    }
    this.options.onGain();
    this.renewAfter(sentMs);
  }

  /** Counts from when the last write was sent, as the trust in it does: the slower the answers, the sooner it renews. */
  private renewAfter(sentMs: number): void {
    const { ttlMs, clock } = this.options;
    this.scheduleRenewal(Math.max(0, sentMs + ttlMs / RENEWALS_PER_TTL - clock.nowMs()));
  }

  private scheduleRenewal(afterMs: number): void {
    if (this.mode !== 'holding') return;
    this.cancelRenew = this.options.timers.after(afterMs, () => void this.renew());
  }

  private async renew(): Promise<void> {
    const { store, role, holder, ttlMs, clock } = this.options;
    if (this.mode !== 'holding') return;
    if (!this.held) {
      this.lose(NOT_RENEWED);
      return;
    }
    const { revision } = this;
    const sentMs = clock.nowMs();
    try {
      const renewed = await store.renew(role, holder, ttlMs, revision);
      // Lost, released or taken anew while waiting for the answer: it is about a lease of the past.
      if (this.isNot('holding') || this.revision !== revision) return;
      if (renewed === undefined) {
        this.lose('it is not ours any more');
        return;
      }
      this.trust(renewed, sentMs);
      this.renewAfter(sentMs);
    } catch {
      // Not reachable. Tried again until the time is over.
      if (this.isNot('holding') || this.revision !== revision) return;
      this.scheduleRenewal(this.options.ttlMs * RETRY_SHARE);
    }
  }

  private trust(revision: number, sentMs: number): void {
    this.revision = revision;
    this.trustedUntilMs = sentMs + this.options.ttlMs * TRUSTED_SHARE;
    this.cancelGiveUp?.();
    this.cancelGiveUp = this.options.timers.after(this.trustedUntilMs - this.options.clock.nowMs(), () => {
      if (this.mode === 'holding') this.lose(NOT_RENEWED); // however little the clock may lack
    });
  }

  private lose(reason: string): void {
    this.mode = 'waiting';
    this.forget();
    this.options.onLoss(reason);
  }

  private async handBack(): Promise<void> {
    const { revision } = this;
    this.forget();
    await this.options.store.release(this.options.role, revision).catch(() => {}); // it expires
  }

  private forget(): void {
    this.cancelRenew?.();
    this.cancelGiveUp?.();
    this.revision = 0;
    this.trustedUntilMs = 0;
  }

  // The mode may have changed during an await, which the compiler does not see.
  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
  private isNot(mode: Lease['mode']): boolean {
    return this.mode !== mode;
  }
}
