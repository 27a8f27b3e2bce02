import type { Call } from '../command-spec.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { AnswerFailure, isNotFound } from '../server/api-failure.js';
import { type Variable, variableUrl } from './variable.js';

/** How long a command waits before it asks for a lock again that somebody else holds, ms. */
export const ASK_AGAIN_MS = 1_000;
/** Renewals in one TTL: one may fail before the grace period begins. */
const RENEWALS_PER_TTL = 2;

export interface LockWish {
  readonly path: string;
  /** Undefined: the variable keeps those it has. */
  readonly items: Readonly<Record<string, string>> | undefined;
  /** Durations as they were written; undefined: the server's own. */
  readonly ttl: string | undefined;
  readonly delay: string | undefined;
  /** How often it is asked for again, if somebody else holds it; undefined: until it is free. */
  readonly maxRetries: number | undefined;
}

/** What a variable holds that is there only to be locked. */
const PLACEHOLDER = { lock: 'held' };

const isHeld = (error: unknown): boolean => error instanceof AnswerFailure && error.status === 409;

/**
 * The lock of a variable that this process holds (OP-199 to OP-202). Acquired → held, renewed every half TTL → released or
 * lost. `lost` is aborted when somebody else may have it: a renewal was refused, or none was answered for two TTLs.
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

  /** Waits until the lock is free. @param onWait told once, when somebody else has it @throws CommandFailure */
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

  /** Aborted when the lock is this process's no longer. */
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

/** What the variable holds, or a placeholder where there is none. */
async function presentItems({ api }: Pick<Call, 'api'>, path: string): Promise<Readonly<Record<string, string>>> {
  try {
    return (await api.get<Variable>(variableUrl(path))).value.Items ?? PLACEHOLDER;
  } catch (error) {
    if (isNotFound(error)) return PLACEHOLDER;
    throw error;
  }
}
