import {
  type CancelTimer,
  type Clock,
  errorText,
  isRefusal,
  renewalRetryMs,
  renewalWaitMs,
  type Timers,
} from '@waybill/model';
import { RpcUnavailableError } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { Gate, pause } from '../waiting/gate.js';
import type { IdentitySigner } from './identity-signer.js';
import type { WantedIdentity } from './wanted-identities.js';

/** A token as it is kept, on disk too. */
export interface KeptToken {
  readonly task: string;
  readonly identity: string;
  readonly jwt: string;
  /** By the clock of this machine; null: it does not expire by itself. */
  readonly expiresAtMs: number | null;
}

/** Hears which identities of a task have new tokens. */
type RenewalListener = (identities: readonly string[]) => void;

export interface AllocationIdentitiesOptions {
  readonly allocId: string;
  /** Index of the allocation's last change: servers that are behind it wait for it (AU-141). */
  readonly index: () => number;
  readonly wanted: readonly WantedIdentity[];
  readonly signer: IdentitySigner;
  readonly clock: Clock;
  readonly timers: Timers;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  /** Resolves when the present tokens are on disk. */
  readonly save: () => Promise<void>;
}

/** How often the first tokens are asked for while no server answers, and the pause between. */
export const FIRST_ATTEMPTS = 5;
export const FIRST_RETRY_MS = 2_000;

/**
 * The tokens of one allocation (AU-151 to AU-155).
 *
 * new      nothing is known, or what an earlier agent has kept
 * held     every wanted token is there; those that expire are renewed together, when half of the earliest one's time is over
 * failing  a renewal failed and is tried again, ever more patiently; the old tokens stay
 * closed   every task is dead, or the agent has put them down: nothing is renewed any more
 *
 * new → held: prepare() found all of them kept and valid, or has fetched them in one request. new → failing: the allocation
 * was taken up again, so its tasks may run: a failure to renew is no reason to end them. held ⇄ failing.
 * Cost: one timer if some token expires, one request and one write of the allocation's record for each renewal.
 */
export class AllocationIdentities {
  private tokens = new Map<string, KeptToken>();
  private readonly listeners = new Map<string, Set<RenewalListener>>();
  /** By task: identities renewed since an earlier agent gave the task their tokens, and not told to anybody. */
  private readonly untold = new Map<string, Set<string>>();
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

  /** What is to be kept on disk. */
  record(): readonly KeptToken[] {
    return [...this.tokens.values()];
  }

  /** Resolves when tasks may start. @throws IdentitiesError when the first tokens cannot be had */
  async prepare(): Promise<void> {
    if (this.isValid()) return this.held();
    if (this.isRestored) return this.renew();
    await this.fetchFirst();
    this.held();
  }

  /** The present token of an identity; undefined: there is none. */
  token(task: string, identity: string): string | undefined {
    return this.tokens.get(keyOf({ task, identity }))?.jwt;
  }

  /** Resolves when every wanted token is there, or after that time, or when one of the gates opens. */
  async untilComplete(ms: number, ...unless: readonly Gate[]): Promise<void> {
    await pause(this.options.timers, ms, this.complete, this.closed, ...unless);
  }

  /**
   * Calls `tell` after each renewal of a task's tokens. A task that runs on from an earlier agent hears at once of what was
   * renewed since that gave it its tokens; one that starts has them.
   */
  watch(task: string, tell: RenewalListener, as: 'start' | 'restored', signal: AbortSignal): void {
    if (signal.aborted) return;
    const listeners = this.listeners.get(task) ?? new Set();
    this.listeners.set(task, listeners);
    listeners.add(tell);
    signal.addEventListener('abort', () => listeners.delete(tell), { once: true });
    const untold = [...(this.untold.get(task) ?? [])];
    this.untold.delete(task);
    if (as === 'restored' && untold.length > 0) tell(untold);
  }

  /** What is there stays readable. */
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
        this.keepTokens(await this.fetched(this.options.wanted));
        return;
      } catch (error) {
        if (!isUnavailable(error) || attempt === FIRST_ATTEMPTS || this.closed.isOpen)
          throw new IdentitiesError(errorText(error), { cause: error });
      }
      await pause(this.options.timers, FIRST_RETRY_MS, this.closed);
    }
  }

  /** What expires, and what is missing (AU-153). Never rejects. */
  private async renew(): Promise<void> {
    const due = this.options.wanted.filter((wanted) => wanted.expires || !this.tokens.has(keyOf(wanted)));
    try {
      const renewed = this.keepTokens(await this.fetched(due));
      this.failures = 0;
      if (this.closed.isOpen) return;
      await this.options.save();
      this.tell(renewed);
      this.held();
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

  /** @throws the signer's error, or that there is no token for one of them (AU-143) */
  private async fetched(wanted: readonly WantedIdentity[]): Promise<readonly KeptToken[]> {
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

  /** @returns those that replace another token */
  private keepTokens(tokens: readonly KeptToken[]): readonly KeptToken[] {
    if (this.closed.isOpen) return [];
    const before = new Map(this.tokens);
    for (const token of tokens) this.tokens.set(keyOf(token), token);
    return tokens.filter((token) => {
      const old = before.get(keyOf(token));
      return old !== undefined && old.jwt !== token.jwt;
    });
  }

  private held(): void {
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

  private tell(renewed: readonly KeptToken[]): void {
    for (const task of new Set(renewed.map((token) => token.task))) {
      const identities = renewed.filter((token) => token.task === task).map(({ identity }) => identity);
      const listeners = [...(this.listeners.get(task) ?? [])];
      for (const listener of listeners) listener(identities);
      if (listeners.length === 0) this.untold.set(task, new Set([...(this.untold.get(task) ?? []), ...identities]));
    }
  }
}

/** The tokens without which an allocation cannot start cannot be had (AU-151). */
export class IdentitiesError extends Error {
  override readonly name = 'IdentitiesError';
  constructor(why: string, options: ErrorOptions) {
    super(`failed to fetch signed identities: ${why}`, options);
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof RpcUnavailableError || isRefusal(error, 'unavailable');

/** Names of tasks have no NUL. */
const keyOf = ({ task, identity }: Pick<KeptToken, 'task' | 'identity'>): string => `${task}\0${identity}`;
