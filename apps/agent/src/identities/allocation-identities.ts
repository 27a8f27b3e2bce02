import {
  type CancelTimer,
  type Clock,
  errorText,
  isRefusal,
  renewalRetryMs,
  renewalWaitMs,
  type Timers,
  type WorkloadIdentity,
} from '@waybill/model';
import { RpcUnavailableError } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { Gate, pause } from '../waiting/gate.js';
import type { IdentitySigner } from './identity-signer.js';
import type { WantedIdentity } from './wanted-identities.js';

/** KeptToken is a token in memory and on disk. */
export interface KeptToken {
  readonly task: string;
  readonly identity: string;
  readonly jwt: string;
  /** The expiry by the clock of this machine; null if the token does not expire. */
  readonly expiresAtMs: number | null;
}

/** RenewalListener receives the identities of a task that have new tokens. */
type RenewalListener = (identities: readonly string[]) => void;

export interface AllocationIdentitiesOptions {
  readonly allocId: string;
  /** Returns the index of the allocation's last change. Servers that are behind it wait for it (AU-141). */
  readonly index: () => number;
  readonly wanted: readonly WantedIdentity[];
  readonly signer: IdentitySigner;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  /** Saves the tokens. Resolves when they are on disk. */
  readonly save: () => Promise<void>;
}

/**
 * The number of attempts to fetch the first tokens while no server answers, and the pause between them in milliseconds.
 */
export const FIRST_ATTEMPTS = 5;
export const FIRST_RETRY_MS = 2_000;

/**
 * AllocationIdentities holds the tokens of one allocation (AU-151 to AU-155).
 *
 * new      no token is known, or only those that an earlier agent kept
 * held     every wanted token is there; those that expire are renewed together, at half of the earliest one's time
 * failing  a renewal failed and is tried again with growing pauses; the old tokens stay
 * closed   every task is dead, or the agent has suspended them: nothing is renewed any more
 *
 * new → held: prepare() found all of them valid, or has fetched them in one request. new → failing: the allocation was
 * restored, so its tasks may run, and a failed renewal is no reason to end them. held ⇄ failing. Cost: one timer if
 * some token expires, one request and one write of the allocation's record per renewal.
 */
export class AllocationIdentities {
  private tokens = new Map<string, KeptToken>();
  private readonly listeners = new Map<string, Set<RenewalListener>>();
  /** Identities by task that were renewed after an earlier agent gave the task its tokens, without a listener. */
  private readonly unreported = new Map<string, Set<string>>();
  private isRestored = false;
  private failures = 0;
  private cancel: CancelTimer = () => {};
  private readonly complete = new Gate();
  private readonly closed = new Gate();

  constructor(private readonly options: AllocationIdentitiesOptions) {}

  restore(kept: readonly KeptToken[]): void {
    this.isRestored = true;
    for (const token of kept) this.tokens.set(keyOf(token), token);
  }

  /** Returns the tokens to keep on disk. */
  record(): readonly KeptToken[] {
    return [...this.tokens.values()];
  }

  /**
   * Prepares the tokens. Resolves when tasks may start.
   * @throws IdentitiesError if the first tokens cannot be fetched
   */
  async prepare(): Promise<void> {
    if (this.isValid()) return this.scheduleRenewal();
    if (this.isRestored) return this.renew();
    await this.fetchFirst();
    this.scheduleRenewal();
  }

  /** Returns the current token of an identity, or undefined if there is none. */
  token(task: string, identity: string): string | undefined {
    return this.tokens.get(keyOf({ task, identity }))?.jwt;
  }

  /** Returns the identities of services whose tokens a task receives, as if they were the task's own. */
  ofServices(task: string): readonly WorkloadIdentity[] {
    return this.options.wanted.flatMap((wanted) =>
      wanted.service && wanted.task === task ? [wanted.service.delivered] : [],
    );
  }

  /** Resolves when every wanted token is there, after the time, or when one of the gates opens. */
  async untilComplete(ms: number, ...unless: readonly Gate[]): Promise<void> {
    await pause(this.options.timers, ms, this.complete, this.closed, ...unless);
  }

  /**
   * Calls `tell` after each renewal of a task's tokens. A task that continues from an earlier agent hears at once of
   * renewals since that agent gave it its tokens. A task that starts has the new tokens.
   */
  watch(task: string, tell: RenewalListener, as: 'start' | 'restored', signal: AbortSignal): void {
    if (signal.aborted) return;
    const listeners = this.listeners.get(task) ?? new Set();
    this.listeners.set(task, listeners);
    listeners.add(tell);
    signal.addEventListener('abort', () => listeners.delete(tell), { once: true });
    const untold = [...(this.unreported.get(task) ?? [])];
    this.unreported.delete(task);
    if (as === 'restored' && untold.length > 0) tell(untold);
  }

  /** Ends the renewals. The tokens stay readable. */
  close(): void {
    this.cancel();
    this.closed.open();
  }

  private isValid(): boolean {
    const nowMs = this.options.clock.nowMs();
    return this.options.wanted.every((wanted) => {
      const kept = this.tokens.get(keyOf(wanted));
      return kept !== undefined && (kept.expiresAtMs === null || kept.expiresAtMs > nowMs);
    });
  }

  private async fetchFirst(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.keepTokens(await this.fetchTokens(this.options.wanted));
        return;
      } catch (error) {
        if (!isUnavailable(error) || attempt === FIRST_ATTEMPTS || this.closed.isOpen)
          throw new IdentitiesError(errorText(error), { cause: error });
      }
      await pause(this.options.timers, FIRST_RETRY_MS, this.closed);
    }
  }

  /** Fetches tokens that expire or are missing (AU-153). Never rejects. */
  private async renew(): Promise<void> {
    const due = this.options.wanted.filter((wanted) => wanted.expires || !this.tokens.has(keyOf(wanted)));
    try {
      const renewed = this.keepTokens(await this.fetchTokens(due));
      this.failures = 0;
      if (this.closed.isOpen) return;
      await this.options.save();
      this.notifyListeners(renewed);
      this.scheduleRenewal();
    } catch (error) {
      if (this.closed.isOpen) return;
      this.failures++;
      const retryMs = renewalRetryMs(this.failures, this.options.random());
      const { allocId, logger } = this.options;
      logger.warn('identities of an allocation cannot be renewed', {
        alloc: allocId,
        retryMs,
        error: errorText(error),
      });
      this.cancel = this.options.timers.after(retryMs, () => void this.renew());
    }
  }

  /** Fetches tokens. @throws the signer's error, or Error if a token is missing (AU-143) */
  private async fetchTokens(wanted: readonly WantedIdentity[]): Promise<readonly KeptToken[]> {
    const { signer, allocId, index } = this.options;
    const tokens = await signer(allocId, index(), wanted);
    if (tokens.length < wanted.length) throw new Error('the servers gave no token for some of them');
    const nowMs = this.options.clock.nowMs();
    return tokens.map(({ task, identity, jwt, validMs }) => ({
      task,
      identity,
      jwt,
      expiresAtMs: validMs === null ? null : nowMs + validMs,
    }));
  }

  /** Stores tokens. @returns those that replace a different token */
  private keepTokens(tokens: readonly KeptToken[]): readonly KeptToken[] {
    if (this.closed.isOpen) return [];
    const before = new Map(this.tokens);
    for (const token of tokens) this.tokens.set(keyOf(token), token);
    return tokens.filter((token) => {
      const old = before.get(keyOf(token));
      return old !== undefined && old.jwt !== token.jwt;
    });
  }

  private scheduleRenewal(): void {
    this.complete.open();
    this.cancel();
    const expiries = [...this.tokens.values()].flatMap(({ expiresAtMs }) =>
      expiresAtMs === null ? [] : [expiresAtMs],
    );
    if (expiries.length === 0 || this.closed.isOpen) return;
    const leftMs = Math.min(...expiries) - this.options.clock.nowMs();
    const waitMs = renewalWaitMs(leftMs, this.options.random());
    this.cancel = this.options.timers.after(waitMs, () => void this.renew());
  }

  private notifyListeners(renewed: readonly KeptToken[]): void {
    for (const task of new Set(renewed.map((token) => token.task))) {
      const identities = renewed.filter((token) => token.task === task).map(({ identity }) => identity);
      const listeners = [...(this.listeners.get(task) ?? [])];
      for (const listener of listeners) listener(identities);
      if (listeners.length === 0)
        this.unreported.set(task, new Set([...(this.unreported.get(task) ?? []), ...identities]));
    }
  }
}

/** IdentitiesError says that the tokens that an allocation needs for its start cannot be fetched (AU-151). */
export class IdentitiesError extends Error {
  override readonly name = 'IdentitiesError';
  constructor(why: string, options: ErrorOptions) {
    super(`failed to fetch signed identities: ${why}`, options);
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof RpcUnavailableError || isRefusal(error, 'unavailable');

/** Returns the key of a token. It is unique, because names of tasks contain no NUL. */
const keyOf = ({ task, identity }: Pick<KeptToken, 'task' | 'identity'>): string => `${task}\0${identity}`;
