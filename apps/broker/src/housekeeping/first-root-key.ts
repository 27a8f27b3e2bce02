import type { NewRootKey } from '@waybill/keyring';
import { type CancelTimer, type Clock, nsFromMs, type RootKeySpecification, type Timers } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import type { Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** Makes and wraps a root key. */
export type MakeRootKey = (specification: NewRootKey) => Promise<RootKeySpecification>;

/** Pause between a failed attempt and the next one. */
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
 * Makes the first root key of a cluster (OP-210). The service that wraps keys may be unreachable: then the term begins
 * without a key, and another attempt follows. A cluster that has keys, usable or not, gets none here.
 *
 * Modes: trying (`start`) → done (a key exists) or stopped (`stop`). Limit: one attempt every FIRST_KEY_RETRY_MS.
 */
export class FirstRootKey {
  private cancelRetry: CancelTimer | undefined;
  private stopped = false;

  constructor(private readonly deps: FirstRootKeyDeps) {}

  /** Resolves after the first attempt, successful or not (OP-216). */
  async start(): Promise<void> {
    const { tables, makeRootKey, clock, newId, writer } = this.deps;
    if (!makeRootKey || this.stopped || tables.root_keys.size > 0) return;
    try {
      const CreateTime = nsFromMs(clock.nowMs());
      const Key = await makeRootKey({ KeyID: newId(), State: 'active', CreateTime, PublishTime: 0 });
      if (this.stopped || tables.root_keys.size > 0) return;
      await writer.write('RootKeyUpsert', { Key, Rekey: false, MustExist: false });
    } catch (error) {
      if (!this.stopped) this.retryLater(error);
    }
  }

  stop(): void {
    this.stopped = true;
    this.cancelRetry?.();
  }

  private retryLater(error: unknown): void {
    const { logger, timers } = this.deps;
    logger.error('the first root key could not be made, and variables and identities wait for it', { error });
    this.cancelRetry = timers.after(FIRST_KEY_RETRY_MS, () => void this.start());
  }
}
