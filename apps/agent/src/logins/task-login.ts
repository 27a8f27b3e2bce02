import { type CancelTimer, type Clock, errorText, renewalWaitMs, SharedRun, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { Gate, pause } from '../waiting/gate.js';
import { WaitNotice } from '../waiting/wait-notice.js';
import type { GrantedToken, LoginService } from './login-service.js';
import { ServerAwayError, ServerRefusedError } from './server-call.js';
import { unlessAborted } from '../waiting/unless-aborted.js';

/** HeldToken is a token in memory and on disk. */
export interface HeldToken {
  readonly token: string;
  /** The expiry by the clock of this machine; null if the token does not expire. */
  readonly expiresAtMs: number | null;
  readonly renewable: boolean;
  /** The life of the token in milliseconds after its login; 0 if it does not expire. */
  readonly lifeMs: number;
}

export interface TaskLoginOptions {
  readonly service: LoginService;
  /** Returns the present token of the task's identity. */
  readonly jwt: () => string | undefined;
  /** The name of that identity. */
  readonly identity: string;
  /** Whether the token is renewed, or may expire while the task runs. */
  readonly keepsAlive: boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly fields: Readonly<Record<string, string>>;
  /** Reports why the task waits for its first token. */
  readonly emit: (message: string) => void;
  /** Keeps the token on disk for a later agent. */
  readonly save: (held: HeldToken) => Promise<void>;
}

/** The first pause after a failed login, and the longest one, in milliseconds. */
export const LOGIN_RETRY_MS = 5_000;
export const LONGEST_LOGIN_RETRY_MS = 180_000;
/** The shortest time between a login and the renewal of its token. */
const MIN_RENEWAL_MS = 1_000;
/** The shortest time between two questions whether a token still counts. */
export const CHECK_PERIOD_MS = 30_000;

/**
 * TaskLogin is the token of one task in one cluster of Vault or Consul (AU-165 to AU-167).
 *
 * new      no token is known, or the one that an earlier agent kept
 * held     there is a token. At half of its life it is renewed; one that cannot be renewed is replaced by a new login
 * failing  a renewal or login failed and is tried again with growing pauses; the old token stays
 * closed   the task is dead, or the agent ends: nothing is renewed any more
 *
 * new → held by ready(), held ⇄ failing. Losing the token (the service does not know it any more) causes a login at
 * once. Cost: one timer while the token expires, one request for a renewal or login.
 */
export class TaskLogin {
  private held: HeldToken | undefined;
  private failures = 0;
  private cancel: CancelTimer = () => {};
  private checkedAtMs = -Infinity;
  private readonly closed = new Gate();
  private readonly listeners = new Set<() => void>();
  private readonly notice: WaitNotice;
  private readonly first = new SharedRun(() => this.loginFirst());

  constructor(private readonly options: TaskLoginOptions) {
    this.notice = new WaitNotice(options.timers, options.emit);
  }

  /** Returns the present token, or undefined if there is none. */
  get token(): string | undefined {
    return this.held?.token;
  }

  /** Takes the token that an earlier agent kept. */
  restore(held: HeldToken): void {
    this.held = held;
    this.schedule();
  }

  /**
   * Resolves with a token that has not expired. It waits while the service is away.
   * @throws ServerRefusedError if the service refuses the login, Error if the task has no identity or the login is closed
   */
  async ready(signal: AbortSignal): Promise<string> {
    while (!this.held || this.isExpired(this.held)) {
      if (signal.aborted || this.closed.isOpen) throw ended();
      await unlessAborted(this.first.requestRun(), signal, ended);
    }
    return this.held.token;
  }

  /** Calls `tell` after each change of the token, until the signal is aborted. */
  watch(tell: () => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.listeners.add(tell);
    signal.addEventListener('abort', () => this.listeners.delete(tell), { once: true });
  }

  /** Handles a refused request with a token: asks whether the token still counts, and logs in anew if it does not. */
  async handleRefusal(token: string): Promise<void> {
    const { clock, service } = this.options;
    const nowMs = clock.nowMs();
    if (token !== this.held?.token || nowMs - this.checkedAtMs < CHECK_PERIOD_MS || this.closed.isOpen) return;
    this.checkedAtMs = nowMs;
    const isKnown = await service.accepts(token).catch(() => true); // a service that is away has refused nothing
    if (!isKnown && token === this.held.token) await this.loginAgain();
  }

  /** Ends the renewals. @param isOver whether the task needs the token no more, so that it is made invalid */
  async close(isOver: boolean): Promise<void> {
    this.cancel();
    this.notice.setReason('');
    this.closed.open();
    const { service, logger, fields } = this.options;
    if (!isOver || !this.held) return;
    try {
      await service.end(this.held.token);
    } catch (error) {
      logger.warn(`a token of ${service.product} could not be made invalid; it ends with its life`, {
        ...fields,
        error: errorText(error),
      });
    }
  }

  private isExpired({ expiresAtMs }: HeldToken): boolean {
    return expiresAtMs !== null && expiresAtMs <= this.options.clock.nowMs();
  }

  /** Logs in, with pauses while the service is away. Resolves with a token, or when the login is closed. */
  private async loginFirst(): Promise<void> {
    while (!this.closed.isOpen && (!this.held || this.isExpired(this.held))) {
      try {
        await this.login();
        this.notice.setReason('');
        return;
      } catch (error) {
        if (!(error instanceof ServerAwayError)) {
          this.notice.setReason('');
          throw error;
        }
        this.notice.setReason(`waiting for a token: ${errorText(error)}`);
        await pause(this.options.timers, this.retryMs(), this.closed);
      }
    }
  }

  private async login(): Promise<void> {
    const { service, identity } = this.options;
    const jwt = this.options.jwt();
    if (jwt === undefined) throw new Error(`there is no token of the identity "${identity}"`);
    await this.keep(await service.login(jwt), 'login');
  }

  /** Renews the token, or logs in if it cannot be renewed or was lost. Never rejects. */
  private async renew(): Promise<void> {
    const { service } = this.options;
    const { held } = this;
    if (!held || this.closed.isOpen) return;
    if (!held.renewable || !service.renew || this.isExpired(held)) return this.loginAgain();
    try {
      await this.keep({ ...(await service.renew(held.token)), token: held.token }, 'renewal');
    } catch (error) {
      if (error instanceof ServerRefusedError) return this.loginAgain();
      this.retryLater(error);
    }
  }

  private async loginAgain(): Promise<void> {
    this.cancel();
    try {
      await this.login();
    } catch (error) {
      this.retryLater(error);
    }
  }

  private retryLater(error: unknown): void {
    if (this.closed.isOpen) return;
    const { logger, service, fields, timers } = this.options;
    const retryMs = this.retryMs();
    logger.warn(`a token of ${service.product} cannot be renewed`, { ...fields, retryMs, error: errorText(error) });
    this.cancel = timers.after(retryMs, () => void this.renew());
  }

  /** Returns the next pause: growing, and no longer than half of the time that the token has left. */
  private retryMs(): number {
    const grown = Math.min(LONGEST_LOGIN_RETRY_MS, LOGIN_RETRY_MS * 2 ** this.failures++);
    const leftMs = (this.held?.expiresAtMs ?? Infinity) - this.options.clock.nowMs();
    return leftMs > 0 ? Math.max(MIN_RENEWAL_MS, Math.min(grown, leftMs / 2)) : grown;
  }

  private async keep(granted: GrantedToken, by: 'login' | 'renewal'): Promise<void> {
    const { clock, save, service, logger, fields } = this.options;
    const before = this.held;
    if (this.closed.isOpen) {
      if (by === 'login') await service.end(granted.token).catch(() => {}); // nobody waits for it any more
      return;
    }
    const lifeMs = by === 'renewal' ? (before?.lifeMs ?? 0) : (granted.validMs ?? 0);
    const expiresAtMs = granted.validMs === null ? null : clock.nowMs() + granted.validMs;
    // A service cuts renewals at the token's longest life. Then the next step is a login.
    const isCut = granted.validMs !== null && granted.validMs < lifeMs / 2;
    this.held = { token: granted.token, renewable: granted.renewable && !isCut, expiresAtMs, lifeMs };
    this.failures = 0;
    this.schedule();
    await save(this.held).catch((error: unknown) =>
      logger.warn(`a token of ${service.product} is not on the disk`, { ...fields, error: errorText(error) }),
    );
    if (before && before.token !== granted.token) for (const tell of this.listeners) tell();
  }

  private schedule(): void {
    this.cancel();
    const { keepsAlive, clock, timers, random } = this.options;
    const { expiresAtMs } = this.held ?? { expiresAtMs: null };
    if (expiresAtMs === null || !keepsAlive || this.closed.isOpen) return;
    const leftMs = expiresAtMs - clock.nowMs();
    this.cancel = timers.after(renewalWaitMs(leftMs, random(), MIN_RENEWAL_MS), () => void this.renew());
  }
}

const ended = (): Error => new Error('the task ended');
