import type { NewRootKey } from '@waybill/keyring';
import { type CancelTimer, type Clock, nsFromMs, type RootKeySpecification, type Timers } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import type { Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** Makes and wraps a key. */
export type MakeRootKey = (said: NewRootKey) => Promise<RootKeySpecification>;

/** How long after a failure the next attempt begins. */
export const FIRST_KEY_RETRY_MS = 10_000;

export interface FirstRootKeyDeps {
  readonly tables: Pick<Tables, 'root_keys'>;
  readonly writer: HolderWriter;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  /** Undefined: no wrapping key is configured, and no key is made. */
  readonly makeRootKey?: MakeRootKey | undefined;
}

/**
 * The first root key of a cluster, which the holder makes (OP-210). What wraps keys may be another service, and that may be
 * away: then the term begins without a key, and the next attempt follows. A cluster that has keys gets no other one here,
 * whether they can be used or not.
 *
 * Modes: trying (start → made, or stop).
 */
export class FirstRootKey {
  private cancelRetry: CancelTimer | undefined;
  private stopped = false;

  constructor(private readonly deps: FirstRootKeyDeps) {}

  /** Resolves after the first attempt, whatever came of it (OP-216). */
  async start(): Promise<void> {
    const { tables, makeRootKey, clock, newId, writer } = this.deps;
    if (!makeRootKey || this.stopped || tables.root_keys.size > 0) return;
    try {
      const CreateTime = nsFromMs(clock.nowMs());
      const Key = await makeRootKey({ KeyID: newId(), State: 'active', CreateTime, PublishTime: 0 });
      if (this.stopped || tables.root_keys.size > 0) return;
      await writer.write('RootKeyUpsert', { Key, Rekey: false, MustExist: false });
    } catch (error) {
      if (!this.stopped) this.retry(error);
    }
  }

  stop(): void {
    this.stopped = true;
    this.cancelRetry?.();
  }

  private retry(error: unknown): void {
    const { logger, timers } = this.deps;
    logger.error('the first root key could not be made: variables and identities wait for it', { error });
    this.cancelRetry = timers.after(FIRST_KEY_RETRY_MS, () => void this.start());
  }
}
