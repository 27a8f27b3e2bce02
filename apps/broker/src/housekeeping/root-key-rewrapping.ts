import type { Keyring } from '@waybill/keyring';
import type { Clock, RootKey, Timers } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { compareText, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { HousekeepingLoop } from './housekeeping-loop.js';

/** Interval between two checks for root keys that another wrapper wrapped. */
export const REWRAP_CHECK_MS = 5_000;
/** Pause after a pass in which a root key could not be wrapped anew. */
export const REWRAP_RETRY_MS = 5 * 60_000;

/** Interval between two questions to the key management service which version of its key wraps now. */
export const REFRESH_MS = 10 * 60_000;

/** Wraps root keys by the wrapper of new keys. `Keyring` implements it. */
export type KeyRewrapper = Pick<Keyring, 'needsRewrapping' | 'rewrapped' | 'refreshWrapper'>;

export interface RootKeyRewrappingDeps {
  readonly tables: Pick<Tables, 'root_keys'>;
  readonly writer: Pick<HolderWriter, 'write'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Undefined: the keyring is off. */
  readonly rewrapper?: KeyRewrapper | undefined;
}

/**
 * Wraps root keys anew after the wrapper of new keys was changed or its key was rotated, so that the former one can go
 * (OP-210). The keys themselves stay the same: no variable is encrypted anew, and every signature stays valid. A key that
 * fails stays as it is.
 *
 * Cost: O(keys) for a check, and there are a handful. One request to the key management service every REFRESH_MS.
 */
export class RootKeyRewrapping extends HousekeepingLoop {
  private refreshesAtMs: number;

  constructor(private readonly deps: RootKeyRewrappingDeps) {
    const { timers, rewrapper } = deps;
    super({ timers, firstPauseMs: REWRAP_CHECK_MS, isNeeded: rewrapper !== undefined });
    this.refreshesAtMs = deps.clock.nowMs() + REFRESH_MS;
  }

  protected async runPass(): Promise<number> {
    const { rewrapper, tables } = this.deps;
    if (!rewrapper) return REWRAP_CHECK_MS;
    await this.refresh(rewrapper);
    const due = [...tables.root_keys.all()].filter((key) => rewrapper.needsRewrapping(key));
    let failed = false;
    for (const key of due.toSorted((a, b) => compareText(a.KeyID, b.KeyID))) {
      if (this.stopped) break;
      if (!(await this.rewrap(key, rewrapper))) failed = true;
    }
    return failed ? REWRAP_RETRY_MS : REWRAP_CHECK_MS;
  }

  private async refresh(rewrapper: KeyRewrapper): Promise<void> {
    const nowMs = this.deps.clock.nowMs();
    if (nowMs < this.refreshesAtMs) return;
    this.refreshesAtMs = nowMs + REFRESH_MS;
    try {
      await rewrapper.refreshWrapper();
    } catch (error) {
      if (!this.stopped)
        this.deps.logger.warn('the key management service does not say which version of its key wraps', { error });
    }
  }

  private async rewrap(key: RootKey, rewrapper: KeyRewrapper): Promise<boolean> {
    const { KeyID } = key;
    try {
      const Wrapped = await rewrapper.rewrapped(key);
      if (!this.stopped) {
        await this.deps.writer.write('RootKeyRewrap', { KeyID, Wrapped });
        this.deps.logger.info('a root key was wrapped anew', { keyId: KeyID, by: Wrapped.Provider });
      }
      return true;
    } catch (error) {
      if (!this.stopped) this.deps.logger.warn('a root key could not be wrapped anew', { error, keyId: KeyID });
      return false;
    }
  }
}
