import { type CancelTimer, type Clock, MAX_TIMER_MS, type Timers } from '@waybill/model';
import type { EventAbout } from '@waybill/projection';
import type { Caller } from '../access/caller.js';
import { type CallerSource, everybody } from '../access/callers.js';
import type { ExistingNamespaces } from '../access/request-access.js';
import { checkTopics, maySee, subscribedNamespaces } from './event-rights.js';
import type { Topics } from './event-filter.js';

/** How often it is asked whether the identity of a workload still counts: nobody says when its allocation ends. */
export const WORKLOAD_LOOK_MS = 10_000;

export interface StreamPermitOptions {
  readonly callers: CallerSource;
  readonly namespaces: ExistingNamespaces;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Opens permits. Stateless. */
export class StreamPermits {
  constructor(private readonly options: StreamPermitOptions) {}

  /** @throws Refusal forbidden; what the read model throws */
  open(wanted: Subscription): Promise<StreamPermit> {
    return StreamPermit.open(this.options, wanted);
  }
}

/** What a subscriber asked for, and with which credential. */
export interface Subscription {
  readonly credential: string | undefined;
  readonly topics: Topics;
  /** `*`: all. */
  readonly namespace: string;
}

/**
 * The right of one open event stream (EV-40 to EV-48). Modes: open → ended. Every change of a token, policy or role has it
 * looked at anew; until that is done nothing more is sent (`settled`). It ends when the token is gone, expired or has lost
 * a right that the subscription needs. A look that fails (no database) ends it too: the client comes back and is
 * answered then.
 * Cost: a look per change and stream.
 */
export class StreamPermit {
  private readonly ending = new AbortController();
  private caller: Caller | undefined;
  private look: Promise<void> = Promise.resolve();
  private cancelExpiry: CancelTimer | undefined;
  private readonly unlisten: () => void;

  private constructor(
    private readonly options: StreamPermitOptions,
    private readonly wanted: Subscription,
  ) {
    this.unlisten = options.callers.onChange(() => this.lookAgain());
  }

  /** @throws Refusal forbidden; what the read model throws */
  static async open(options: StreamPermitOptions, wanted: Subscription): Promise<StreamPermit> {
    const permit = new StreamPermit(options, wanted);
    try {
      await permit.check();
      return permit;
    } catch (error) {
      permit.close();
      throw error;
    }
  }

  /** Aborted when the right has ended. */
  get ended(): AbortSignal {
    return this.ending.signal;
  }

  /** Resolves once what is known of the right is as new as the changes heard of; false: it has ended. */
  async settled(): Promise<boolean> {
    for (let seen; seen !== this.look;) await (seen = this.look);
    return !this.ended.aborted;
  }

  /** Whether the subscriber may see an event; undefined: every event, now and later. */
  get filter(): ((event: EventAbout) => boolean) | undefined {
    if (this.options.callers === everybody) return undefined;
    return (event) => this.caller !== undefined && maySee(this.caller, event);
  }

  /** Must be called. */
  close(): void {
    this.unlisten();
    this.cancelExpiry?.();
  }

  private lookAgain(): void {
    this.look = this.look.then(() => this.check()).catch(() => this.end());
  }

  private async check(): Promise<void> {
    const { callers, namespaces } = this.options;
    const caller = await callers.of(this.wanted.credential);
    const existing = this.wanted.namespace === '*' && !caller.acl.isManagement() ? await namespaces() : [];
    checkTopics(caller, this.wanted.topics, subscribedNamespaces(this.wanted.namespace, existing));
    this.caller = caller;
    this.awaitExpiry(caller);
  }

  /** Ends the stream at the instant when the token expires, not at the next event (EV-46). */
  private awaitExpiry(caller: Caller): void {
    const { token, workload } = caller;
    this.cancelExpiry?.();
    if (workload) {
      this.cancelExpiry = this.options.timers.after(WORKLOAD_LOOK_MS, () => this.lookAgain());
      return;
    }
    if (!token?.ExpirationTime) return;
    const leftMs = Date.parse(token.ExpirationTime) - this.options.clock.nowMs();
    if (leftMs <= 0) return this.end();
    this.cancelExpiry = this.options.timers.after(Math.min(leftMs, MAX_TIMER_MS), () => this.awaitExpiry(caller));
  }

  private end(): void {
    this.ending.abort();
    this.close();
  }
}
