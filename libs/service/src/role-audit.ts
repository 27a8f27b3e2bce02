import { type Clock, errorText, type Timers } from '@waybill/model';
import { MAX_ROLE_EVENTS, recordRoleEvents, type RoleEvent, type Rpc } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';

/** Events that may wait for an API. Further ones are dropped and counted: a service must not fail for its audit log. */
export const MAX_WAITING_ROLE_EVENTS = 1_000;
/** Milliseconds between two attempts to hand over events. */
export const HAND_OVER_AGAIN_MS = 5_000;
/** Milliseconds that a stopping service waits for an API. */
const LAST_ATTEMPT_MS = 2_000;

type WithoutStamp<E> = E extends RoleEvent ? Omit<E, 'ID' | 'TimeMs'> : never;
/** An event without its ID and time, which RoleAudit adds. */
export type NewRoleEvent = WithoutStamp<RoleEvent>;

/** RecordsRoleEvents takes an event for the audit log. It neither waits nor fails. */
export interface RecordsRoleEvents {
  record(event: NewRoleEvent): void;
}

export interface RoleAuditDeps {
  readonly rpc: Pick<Rpc, 'ask'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  /** Counts events that were dropped. */
  readonly dropped: () => void;
}

/**
 * RoleAudit hands what this service does in its role to an API, which has the sinks of the audit log (AU-281).
 *
 * Modes: idle → handing over ⇄ waiting for the next attempt, until nothing waits → stopped. The service never waits for
 * it. While no API answers, or an API cannot write, events wait in memory, in order, MAX_WAITING_ROLE_EVENTS at most.
 * Events that wait when the process dies are lost, and an event whose answer was lost is recorded twice, under the same
 * ID. Cost: one call for up to MAX_ROLE_EVENTS events; none while there are no events.
 */
export class RoleAudit implements RecordsRoleEvents {
  private readonly waiting: RoleEvent[] = [];
  private handingOver: Promise<void> | undefined;
  private cancelNext: (() => void) | undefined;
  private isDropping = false;
  private stopped = false;

  constructor(private readonly deps: RoleAuditDeps) {}

  record(event: NewRoleEvent): void {
    if (this.stopped) return;
    if (this.waiting.length >= MAX_WAITING_ROLE_EVENTS) {
      this.drop();
      return;
    }
    const { newId, clock } = this.deps;
    // The compiler does not relate the spread of a union to the union.
    this.waiting.push({ ...event, ID: newId(), TimeMs: clock.nowMs() } as RoleEvent);
    if (this.cancelNext === undefined) this.begin();
  }

  /** Makes one last attempt. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelNext?.();
    await this.handingOver;
    if (this.waiting.length > 0) await this.attempt(LAST_ATTEMPT_MS);
    for (const _lost of this.waiting.splice(0)) this.deps.dropped();
  }

  private begin(): void {
    this.handingOver ??= this.handOver();
  }

  /** Clears `handingOver` without a pause after it found nothing left, so that the next event begins anew. */
  private async handOver(): Promise<void> {
    let isTaken = true;
    while (isTaken && this.waiting.length > 0) isTaken = await this.attempt();
    this.handingOver = undefined;
    if (isTaken) this.isDropping = false;
    else this.tryLater();
  }

  /** Returns false if no API took anything. */
  private async attempt(timeoutMs = recordRoleEvents.timeoutMs): Promise<boolean> {
    try {
      const batch = this.waiting.slice(0, MAX_ROLE_EVENTS);
      const { Taken } = await this.deps.rpc.ask(recordRoleEvents, batch, { timeoutMs });
      this.waiting.splice(0, Taken);
      return Taken > 0;
    } catch (error) {
      this.deps.logger.debug('no API takes records for the audit log', { error: errorText(error) });
      return false;
    }
  }

  private tryLater(): void {
    if (this.stopped) return;
    this.cancelNext = this.deps.timers.after(HAND_OVER_AGAIN_MS, () => {
      this.cancelNext = undefined;
      this.begin();
    });
  }

  private drop(): void {
    this.deps.dropped();
    if (this.isDropping) return;
    this.isDropping = true;
    this.deps.logger.error('records for the audit log are dropped, because no API takes them', {
      waiting: this.waiting.length,
    });
  }
}
