import { type CancelTimer, type Clock, MAX_TIMER_MS, type Timers } from '@waybill/model';
import type { EventAbout } from '@waybill/projection';
import type { Caller } from '../access/caller.js';
import { type CallerSource, everybody } from '../access/callers.js';
import type { ExistingNamespaces } from '../access/request-access.js';
import { checkTopics, maySee, subscribedNamespaces } from './event-rights.js';
import type { Topics } from './event-filter.js';

/**
 * The interval in milliseconds of checks whether a workload's identity is still valid. Nothing announces the end of its
 * allocation.
 */
export const WORKLOAD_LOOK_MS = 10_000;

export interface StreamPermitOptions {
  readonly callers: CallerSource;
  readonly namespaces: ExistingNamespaces;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** StreamPermits opens permits. It has no state. */
export class StreamPermits {
  constructor(private readonly options: StreamPermitOptions) {}

  /** @throws Refusal forbidden; the errors of the read model */
  open(wanted: Subscription): Promise<StreamPermit> {
    return StreamPermit.open(this.options, wanted);
  }
}

/** Subscription is the request of a subscriber with their credential. */
export interface Subscription {
  readonly credential: string | undefined;
  readonly topics: Topics;
  /** The requested namespace; `*` stands for all. */
  readonly namespace: string;
}

/**
 * StreamPermit is the right of one open event stream (EV-40 to EV-48). Modes: open → ended. Every change of a token,
 * policy or role causes a new check, and nothing is sent until the check is done (`settled`). The permit ends when the
 * token is deleted or expired, or has lost a right that the subscription needs. A check that fails (no database) ends
 * it too: the client connects again and gets an answer then.
 * Cost: one check per change and stream.
 */
export class StreamPermit {
  private readonly ending = new AbortController();
  private caller: Caller | undefined;
  private checking: Promise<void> = Promise.resolve();
  private cancelExpiry: CancelTimer | undefined;
  private readonly unlisten: () => void;

  private constructor(
    private readonly options: StreamPermitOptions,
    private readonly wanted: Subscription,
  ) {
    this.unlisten = options.callers.onChange(() => this.checkAgain());
  }

  /** @throws Refusal forbidden; the errors of the read model */
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

  /** The signal is aborted when the right has ended. */
  get ended(): AbortSignal {
    return this.ending.signal;
  }

  /** Resolves when all reported changes are checked. The result is false if the right has ended. */
  async settled(): Promise<boolean> {
    for (let seen; seen !== this.checking;) await (seen = this.checking);
    return !this.ended.aborted;
  }

  /**
   * Returns a function that says whether the subscriber may see an event. It is undefined if they may see every event,
   * now and later.
   */
  get filter(): ((event: EventAbout) => boolean) | undefined {
    if (this.options.callers === everybody) return undefined;
    return (event) => this.caller !== undefined && maySee(this.caller, event);
  }

  /** Ends the watching for changes. Every owner must call it. */
  close(): void {
    this.unlisten();
    this.cancelExpiry?.();
  }

  private checkAgain(): void {
    this.checking = this.checking.then(() => this.check()).catch(() => this.end());
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
      this.cancelExpiry = this.options.timers.after(WORKLOAD_LOOK_MS, () => this.checkAgain());
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
