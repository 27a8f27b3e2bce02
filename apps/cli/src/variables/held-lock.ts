import type { Call } from '../command-spec.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { AnswerFailure, isNotFound } from '../server/api-failure.js';
import { type Variable, variableUrl } from './variable.js';

/** Milliseconds before a lock with another holder is requested again. */
export const ASK_AGAIN_MS = 1_000;
/** Renewals in one TTL, so that one may fail before the grace period starts. */
const RENEWALS_PER_TTL = 2;

export interface LockWish {
  readonly path: string;
  /** Undefined to keep the present items of the variable. */
  readonly items: Readonly<Record<string, string>> | undefined;
  /** Durations as the user wrote them. Undefined for the server's default. */
  readonly ttl: string | undefined;
  readonly delay: string | undefined;
  /** Number of retries while the lock has another holder. Undefined to retry until it is free. */
  readonly maxRetries: number | undefined;
}

/** Items of a variable that exists only for its lock. */
const PLACEHOLDER = { lock: 'held' };

const isHeld = (error: unknown): boolean => error instanceof AnswerFailure && error.status === 409;

/**
 * The lock of a variable, held by this process (OP-199 to OP-202). Acquired → held, renewed every half TTL → released
 * or lost. `lost` is aborted when another process may hold the lock: a renewal was refused, or no renewal succeeded for
 * two TTLs.
 */
export class HeldLock {
  private readonly losing = new AbortController();
  private readonly ending = new AbortController();

  private constructor(
    private readonly call: Pick<Call, 'api' | 'clock' | 'sleep' | 'terminal'>,
    private readonly path: string,
    private readonly id: string,
    private readonly ttlMs: number,
  ) {}

  /** Waits until the lock is free. @param onWait called once if the lock has another holder @throws CommandFailure */
  static async acquire(
    call: Pick<Call, 'api' | 'clock' | 'sleep' | 'terminal'>,
    wish: LockWish,
    msOf: (duration: string) => number,
    onWait: () => void,
  ): Promise<HeldLock> {
    const { api } = call;
    const Lock = {
      ...(wish.ttl !== undefined && { TTL: wish.ttl }),
      ...(wish.delay !== undefined && { LockDelay: wish.delay }),
    };
    for (let retries = 0; ; retries++) {
      try {
        const Items = { ...(wish.items ?? (await presentItems(call, wish.path))) };
        const { value } = await api.put<Variable>(variableUrl(wish.path), { Items, Lock }, { 'lock-acquire': '' });
        const lock = new HeldLock(call, wish.path, value.Lock?.ID ?? '', msOf(value.Lock?.TTL ?? ''));
        void lock.keep();
        return lock;
      } catch (error) {
        if (!isHeld(error)) throw failed('acquiring lock', error);
        if (retries === wish.maxRetries)
          throw new CommandFailure(`The lock of "${wish.path}" is held by somebody else`);
        if (retries === 0) onWait();
        await call.sleep(ASK_AGAIN_MS);
      }
    }
  }

  /** Aborted when this process no longer holds the lock. */
  get lost(): AbortSignal {
    return this.losing.signal;
  }

  /** @throws CommandFailure */
  async release(): Promise<void> {
    this.ending.abort();
    if (this.lost.aborted) return;
    await this.call.api
      .put(variableUrl(this.path), { Lock: { ID: this.id } }, { 'lock-release': '' })
      .catch((error: unknown) => {
        throw failed('releasing lock', error);
      });
  }

  private async keep(): Promise<void> {
    let renewedMs = this.call.clock.nowMs();
    while (!this.ending.signal.aborted) {
      try {
        await this.call.sleep(this.ttlMs / RENEWALS_PER_TTL, this.ending.signal);
        await this.call.api.put(variableUrl(this.path), { Lock: { ID: this.id } }, { 'lock-renew': '' });
        renewedMs = this.call.clock.nowMs();
      } catch (error) {
        if (isInterrupt(error)) return;
        if (isHeld(error) || isNotFound(error) || this.call.clock.nowMs() - renewedMs >= 2 * this.ttlMs) {
          this.losing.abort();
          return;
        }
        this.call.terminal.warn(`Error renewing lock: ${causeOf(error)}`);
      }
    }
  }
}

/** Returns the items of the variable, or a placeholder if it does not exist. */
async function presentItems({ api }: Pick<Call, 'api'>, path: string): Promise<Readonly<Record<string, string>>> {
  try {
    return (await api.get<Variable>(variableUrl(path))).value.Items ?? PLACEHOLDER;
  } catch (error) {
    if (isNotFound(error)) return PLACEHOLDER;
    throw error;
  }
}
