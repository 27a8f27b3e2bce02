import { type CancelTimer, type ClientAllocUpdate, type Timers } from '@waybill/model';
import { isTooLarge } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { PendingUpdate, PendingUpdates, PendingUpdatesListener } from './pending-updates.js';

/** The intervals of agent.md section 27. */
export const PUSH_CHECK_MS = 200;
/**
 * The time in milliseconds after which the first urgent update is sent, if nothing was sent in the PUSH_CHECK_MS before.
 * Tasks of a group that start together are reported together.
 */
export const FIRST_PUSH_MS = 10;
/** An update that is not urgent is sent with every fifth check. */
export const CHECKS_PER_ORDINARY_PUSH = 5;
export const PUSH_RETRY_MS = 5_000;
export const PUSH_RETRY_RANDOM_MS = 5_000;
/** The largest number of updates in one request. The rest follows at once. */
export const MAX_PUSH_ALLOCS = 200;

/** UpdateSender sends states of allocations to the servers. */
export interface UpdateSender {
  /** Resolves when the servers have committed the updates. */
  send(updates: readonly ClientAllocUpdate[], traceparent: string | undefined): Promise<void>;
}

/** Acknowledgements knows the confirmed state of each allocation, and learns of each new confirmation. */
export interface Acknowledgements {
  /** Returns the state that the servers have confirmed last, or null if there is none. */
  acknowledgedUpdate(allocId: string): ClientAllocUpdate | null;
  acknowledge(update: ClientAllocUpdate): void;
}

export interface PushDependencies {
  readonly timers: Timers;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly retryMs: number;
  readonly pending: PendingUpdates;
  readonly sender: UpdateSender;
  readonly acknowledgements: Acknowledgements;
}

/**
 * PushLoop reports the states of the allocations to the servers (agent.md section 7).
 *
 * States: held → checking ⇄ sending → stopped. held: until the first pull was applied (AG-61). checking: it checks the
 * pending updates every PUSH_CHECK_MS; without any there is no timer. An urgent update after a rest is sent earlier, so
 * users see at once that a task runs. sending: one request at a time (AG-64); a failed one is repeated after a pause with
 * the newest states. Limits: MAX_PUSH_ALLOCS per request, and one early request per PUSH_CHECK_MS.
 */
export class PushLoop implements PendingUpdatesListener {
  private checks = 0;
  private cancelCheck: CancelTimer | undefined;
  private isCheckEarly = false;
  private cancelRest: CancelTimer | undefined;
  private mode: 'held' | 'checking' | 'sending' | 'stopped' = 'held';

  constructor(private readonly deps: PushDependencies) {
    deps.pending.setListener(this);
  }

  /** Schedules a check. The update goes out with one of the next checks, or early after a rest (AG-62). */
  updateAdded(update: ClientAllocUpdate): void {
    if (this.cancelRest || !this.isUrgent(update)) return this.schedulePush(PUSH_CHECK_MS);
    if (!this.isCheckEarly) this.hastenPush(FIRST_PUSH_MS);
  }

  /** Schedules a check with which all pending states go out (AG-68). */
  updatesAddedAgain(): void {
    this.checks = CHECKS_PER_ORDINARY_PUSH - 1;
    this.schedulePush(PUSH_CHECK_MS);
  }

  /** Begins to send, because the first pull was applied. */
  startSending(): void {
    if (this.mode !== 'held') return;
    this.mode = 'checking';
    this.schedulePush(0);
  }

  /** Sends the pending updates once more, best effort (AG-344), and ends. */
  async stop(): Promise<void> {
    const wasChecking = this.mode === 'checking';
    this.cancelCheck?.();
    this.cancelRest?.();
    this.mode = 'stopped';
    if (wasChecking && this.dropConfirmed() > 0) await this.sendOnce(this.nextUpdates()).catch(() => undefined);
  }

  private schedulePush(delayMs: number): void {
    if (this.mode !== 'checking' || this.cancelCheck || this.deps.pending.size === 0) return;
    this.cancelCheck = this.deps.timers.after(delayMs, () => {
      this.cancelCheck = undefined;
      this.isCheckEarly = false;
      void this.pushIfDue();
    });
  }

  /** Replaces a later check by an earlier one. */
  private hastenPush(delayMs: number): void {
    this.cancelCheck?.();
    this.cancelCheck = undefined;
    this.schedulePush(delayMs);
    this.isCheckEarly = this.cancelCheck !== undefined;
  }

  /** Sends nothing early for some time. An urgent update that came meanwhile is sent at its end. */
  private rest(delayMs: number): void {
    this.cancelRest?.();
    this.cancelRest = this.deps.timers.after(delayMs, () => {
      this.cancelRest = undefined;
      if (this.hasUrgent()) this.hastenPush(0);
    });
  }

  private async pushIfDue(): Promise<void> {
    if (this.mode !== 'checking') return;
    this.checks++;
    if (this.dropConfirmed() === 0) return;
    if (!this.hasUrgent() && this.checks % CHECKS_PER_ORDINARY_PUSH !== 0) return this.schedulePush(PUSH_CHECK_MS);
    this.mode = 'sending';
    let delayMs = PUSH_CHECK_MS;
    try {
      await this.sendOnce(this.nextUpdates());
      if (this.deps.pending.size > 0) delayMs = 0;
    } catch (error) {
      delayMs = this.deps.retryMs + this.deps.random() * Math.min(PUSH_RETRY_RANDOM_MS, this.deps.retryMs);
      this.checks = CHECKS_PER_ORDINARY_PUSH - 1;
      this.deps.logger.warn('states of allocations could not be sent; trying again', {
        error,
        retryMs: Math.round(delayMs),
      });
    }
    if (this.isStopped()) return;
    this.mode = 'checking';
    this.rest(Math.max(delayMs, PUSH_CHECK_MS));
    this.schedulePush(delayMs);
  }

  private nextUpdates(): PendingUpdate[] {
    return this.deps.pending.all().slice(0, MAX_PUSH_ALLOCS);
  }

  /** Sends a batch, in several requests if one would exceed the size of a message. */
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

  /** Drops each state that the servers have confirmed already (AG-63). @returns the number of the remaining states */
  private dropConfirmed(): number {
    for (const { update, again } of this.deps.pending.all()) {
      const known = this.deps.acknowledgements.acknowledgedUpdate(update.ID);
      if (!again && known && JSON.stringify(known) === JSON.stringify(update))
        this.deps.pending.removeUpdate(update.ID);
    }
    return this.deps.pending.size;
  }

  private hasUrgent(): boolean {
    return this.deps.pending.all().some(({ update }) => this.isUrgent(update));
  }

  /**
   * Says whether an allocation's client status differs from the confirmed one, which is `pending` before the first
   * confirmation (AG-62).
   */
  private isUrgent({ ID, ClientStatus }: ClientAllocUpdate): boolean {
    return ClientStatus !== (this.deps.acknowledgements.acknowledgedUpdate(ID)?.ClientStatus ?? 'pending');
  }

  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
}
