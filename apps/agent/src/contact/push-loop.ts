import { type CancelTimer, type ClientAllocUpdate, type Timers } from '@waybill/model';
import { isTooLarge } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { PendingUpdate, PendingUpdates, PendingUpdatesListener } from './pending-updates.js';

/** agent.md section 27. */
export const PUSH_LOOK_MS = 200;
/** An update that is not urgent goes out with every fifth look. */
export const LOOKS_PER_ORDINARY_PUSH = 5;
export const PUSH_RETRY_MS = 5_000;
export const PUSH_RETRY_RANDOM_MS = 5_000;
/** Updates in one request; the rest follows at once. */
export const MAX_PUSH_ALLOCS = 200;

/** Sends states of allocations to the servers. */
export interface UpdateSender {
  /** Resolves when the servers have committed the updates. */
  send(updates: readonly ClientAllocUpdate[], traceparent: string | undefined): Promise<void>;
}

/** Knows what the servers have confirmed of each allocation, and learns of each new confirmation. */
export interface Acknowledgements {
  /** The state that the servers have confirmed last; null: none. */
  acknowledged(allocId: string): ClientAllocUpdate | null;
  acknowledge(update: ClientAllocUpdate): void;
}

export interface PushDependencies {
  readonly timers: Timers;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random: () => number;
  readonly retryMs: number;
  readonly pending: PendingUpdates;
  readonly sender: UpdateSender;
  readonly acknowledgements: Acknowledgements;
}

/**
 * Tells the servers what became of the allocations (agent.md section 7).
 *
 * held → looking ⇄ sending → stopped. held: until the first pull was applied (AG-61). looking: at what waits, every
 * PUSH_LOOK_MS; without anything waiting it does not look at all. sending: one request at a time (AG-64); a failed one
 * is repeated after a while with the newest states.
 * Limit: MAX_PUSH_ALLOCS per request.
 */
export class PushLoop implements PendingUpdatesListener {
  private looks = 0;
  private cancelLook: CancelTimer | undefined;
  private mode: 'held' | 'looking' | 'sending' | 'stopped' = 'held';

  constructor(private readonly deps: PushDependencies) {
    deps.pending.listen(this);
  }

  /** The present states go out with the next look, a change with one of the next looks (AG-62, AG-68). */
  updateAdded(isResent: boolean): void {
    if (isResent) this.looks = LOOKS_PER_ORDINARY_PUSH - 1;
    this.plan(PUSH_LOOK_MS);
  }

  /** The first pull was applied. */
  release(): void {
    if (this.mode !== 'held') return;
    this.mode = 'looking';
    this.plan(0);
  }

  /** Sends what waits once more, best effort (AG-344), and ends. */
  async stop(): Promise<void> {
    const wasLooking = this.mode === 'looking';
    this.cancelLook?.();
    this.mode = 'stopped';
    if (wasLooking && this.dropConfirmed() > 0) await this.sendOnce(this.next()).catch(() => undefined);
  }

  private plan(delayMs: number): void {
    if (this.mode !== 'looking' || this.cancelLook || this.deps.pending.size === 0) return;
    this.cancelLook = this.deps.timers.after(delayMs, () => {
      this.cancelLook = undefined;
      void this.pushIfDue();
    });
  }

  private async pushIfDue(): Promise<void> {
    if (this.mode !== 'looking') return;
    this.looks++;
    if (this.dropConfirmed() === 0) return;
    if (!this.isUrgent() && this.looks % LOOKS_PER_ORDINARY_PUSH !== 0) return this.plan(PUSH_LOOK_MS);
    this.mode = 'sending';
    let delayMs = PUSH_LOOK_MS;
    try {
      await this.sendOnce(this.next());
      if (this.deps.pending.size > 0) delayMs = 0;
    } catch (error) {
      delayMs = this.deps.retryMs + this.deps.random() * Math.min(PUSH_RETRY_RANDOM_MS, this.deps.retryMs);
      this.looks = LOOKS_PER_ORDINARY_PUSH - 1;
      this.deps.logger.warn('states of allocations could not be sent; trying again', {
        error,
        retryMs: Math.round(delayMs),
      });
    }
    if (this.isStopped()) return;
    this.mode = 'looking';
    this.plan(delayMs);
  }

  private next(): PendingUpdate[] {
    return this.deps.pending.all().slice(0, MAX_PUSH_ALLOCS);
  }

  /** In as many requests as it takes: one may be larger than a message may be. */
  private async sendOnce(batch: readonly PendingUpdate[]): Promise<void> {
    try {
      await this.sendTogether(batch);
    } catch (error) {
      if (!isTooLarge(error) || batch.length === 1) throw error;
      const middle = Math.ceil(batch.length / 2);
      await this.sendOnce(batch.slice(0, middle));
      await this.sendOnce(batch.slice(middle));
    }
  }

  private async sendTogether(batch: readonly PendingUpdate[]): Promise<void> {
    const traceparent = batch.find((one) => one.traceparent !== undefined)?.traceparent;
    await this.deps.sender.send(
      batch.map(({ update }) => update),
      traceparent,
    );
    for (const sent of batch) {
      this.deps.acknowledgements.acknowledge(sent.update);
      this.deps.pending.removeSent(sent);
    }
  }

  /** Drops each state that the servers have confirmed already (AG-63). @returns how many are left */
  private dropConfirmed(): number {
    for (const { update, again } of this.deps.pending.all()) {
      const known = this.deps.acknowledgements.acknowledged(update.ID);
      if (!again && known && JSON.stringify(known) === JSON.stringify(update)) this.deps.pending.forget(update.ID);
    }
    return this.deps.pending.size;
  }

  /** Whether an allocation has another client status than the servers have confirmed, `pending` if none (AG-62). */
  private isUrgent(): boolean {
    for (const { update } of this.deps.pending.all()) {
      const known = this.deps.acknowledgements.acknowledged(update.ID);
      if (known ? known.ClientStatus !== update.ClientStatus : update.ClientStatus !== 'pending') return true;
    }
    return false;
  }

  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
}
