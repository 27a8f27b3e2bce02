import { type CancelTimer, type Clock, type NodeEvent, rfc3339FromMs, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { LocalEvent } from '../machine/node/local-node.js';

/** The largest number of unsent events. Above it, the oldest are dropped. */
export const MAX_PENDING_EVENTS = 100;
export const EVENTS_RETRY_MS = 10_000;

export interface NodeEventsDependencies {
  /** Sends events to the servers. */
  readonly send: (events: readonly NodeEvent[]) => Promise<unknown>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * NodeEvents sends the events of this machine to the servers. There is one request at a time, with all pending events.
 * After a failure it tries again after EVENTS_RETRY_MS, or with the next event. Events that are unsent at the agent's
 * end are lost.
 */
export class NodeEvents {
  private pending: NodeEvent[] = [];
  private isSending = false;
  private cancel: CancelTimer = () => {};

  constructor(private readonly deps: NodeEventsDependencies) {}

  emit(event: LocalEvent): void {
    const Timestamp = rfc3339FromMs(this.deps.clock.nowMs());
    this.pending = [...this.pending, { ...event, Timestamp, CreateIndex: 0 }].slice(-MAX_PENDING_EVENTS);
    void this.flush();
  }

  stop(): void {
    this.cancel();
    this.pending = [];
  }

  private async flush(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    this.cancel();
    try {
      while (this.pending.length > 0) {
        const told = this.pending;
        await this.deps.send(told);
        this.pending = this.pending.filter((event) => !told.includes(event));
      }
    } catch (error) {
      this.deps.logger.warn('events of this machine could not be told', { error });
      this.cancel = this.deps.timers.after(EVENTS_RETRY_MS, () => void this.flush());
    } finally {
      this.isSending = false;
    }
  }
}
