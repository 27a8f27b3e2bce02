import { type CancelTimer, type ClientAllocUpdate, type Timers } from '@waybill/model';
import { isTooLarge } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';

/** agent.md section 27. */
export const PUSH_LOOK_MS = 200;
/** An update that is not urgent goes out with every fifth look. */
export const LOOKS_PER_ORDINARY_PUSH = 5;
export const PUSH_RETRY_MS = 5_000;
export const PUSH_RETRY_RANDOM_MS = 5_000;
/** Updates in one request; the rest follows at once. */
export const MAX_PUSH_ALLOCS = 200;

export interface PushDependencies {
  readonly timers: Timers;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random: () => number;
  readonly retryMs: number;
  /** Sends; resolves when the servers have committed it. */
  readonly send: (updates: readonly ClientAllocUpdate[], traceparent: string | undefined) => Promise<void>;
  /** What the servers have confirmed of an allocation; null: nothing. */
  readonly acknowledged: (allocId: string) => ClientAllocUpdate | null;
  readonly acknowledge: (update: ClientAllocUpdate) => void;
}

interface Waiting {
  readonly update: ClientAllocUpdate;
  readonly traceparent: string | undefined;
  /** Goes out although the servers have confirmed the same (AG-68). */
  readonly again: boolean;
}

/**
 * Tells the servers what became of the allocations (agent.md section 7).
 *
 * held → looking ⇄ sending → stopped. held: until the first pull was applied (AG-61). looking: at what waits, every
 * PUSH_LOOK_MS; without anything waiting it does not look at all. sending: one request at a time (AG-64); a failed one
 * is repeated after a while with the newest states.
 * Limits: one waiting state per allocation, MAX_PUSH_ALLOCS per request.
 */
export class PushLoop {
  private readonly waiting = new Map<string, Waiting>();
  private looks = 0;
  private cancelLook: CancelTimer | undefined;
  private mode: 'held' | 'looking' | 'sending' | 'stopped' = 'held';

  constructor(private readonly deps: PushDependencies) {}

  /** How many allocations have news. */
  get pending(): number {
    return this.waiting.size;
  }

  /** AG-60: only the newest state of an allocation is kept. */
  changed(update: ClientAllocUpdate, traceparent: string | undefined): void {
    const before = this.waiting.get(update.ID);
    this.waiting.set(update.ID, {
      update,
      traceparent: traceparent ?? before?.traceparent,
      again: before?.again ?? false,
    });
    this.plan(PUSH_LOOK_MS);
  }

  /** AG-68: the present states once more, confirmed or not. */
  sendAgain(updates: readonly ClientAllocUpdate[]): void {
    for (const update of updates) this.waiting.set(update.ID, { update, traceparent: undefined, again: true });
    this.looks = LOOKS_PER_ORDINARY_PUSH - 1;
    this.plan(PUSH_LOOK_MS);
  }

  forget(allocId: string): void {
    this.waiting.delete(allocId);
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
    if (this.mode !== 'looking' || this.cancelLook || this.waiting.size === 0) return;
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
      if (this.waiting.size > 0) delayMs = 0;
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

  private next(): Waiting[] {
    return [...this.waiting.values()].slice(0, MAX_PUSH_ALLOCS);
  }

  /** In as many requests as it takes: one may be larger than a message may be. */
  private async sendOnce(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.sendTogether(batch);
    } catch (error) {
      if (!isTooLarge(error) || batch.length === 1) throw error;
      const middle = Math.ceil(batch.length / 2);
      await this.sendOnce(batch.slice(0, middle));
      await this.sendOnce(batch.slice(middle));
    }
  }

  private async sendTogether(batch: readonly Waiting[]): Promise<void> {
    const traceparent = batch.find((waiting) => waiting.traceparent !== undefined)?.traceparent;
    await this.deps.send(
      batch.map((waiting) => waiting.update),
      traceparent,
    );
    for (const sent of batch) {
      this.deps.acknowledge(sent.update);
      if (this.waiting.get(sent.update.ID) === sent) this.waiting.delete(sent.update.ID);
    }
  }

  /** AG-63. How many are left. */
  private dropConfirmed(): number {
    for (const [id, { update, again }] of this.waiting) {
      const known = this.deps.acknowledged(id);
      if (!again && known && JSON.stringify(known) === JSON.stringify(update)) this.waiting.delete(id);
    }
    return this.waiting.size;
  }

  /** AG-62. */
  private isUrgent(): boolean {
    for (const [id, { update }] of this.waiting) {
      const known = this.deps.acknowledged(id);
      if (known ? known.ClientStatus !== update.ClientStatus : update.ClientStatus !== 'pending') return true;
    }
    return false;
  }

  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
}
