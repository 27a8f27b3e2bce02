import type { Keyring } from '@waybill/keyring';
import type { RootKey, Timers, Variable } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { compareText, namespacedKey, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { HousekeepingLoop } from './housekeeping-loop.js';

/** Interval between two checks for keys whose variables must be encrypted anew. */
export const REKEY_CHECK_MS = 5_000;
/** Variables that are encrypted anew between two pauses: at most 100 a second (GC-86), in small batches that delay reads little. */
export const REKEY_BATCH = 10;
export const REKEY_PAUSE_MS = 100;
/** Pause after a pass that could not decrypt every variable, or could not write. */
export const REKEY_RETRY_MS = 10 * 60_000;
/** Variables that a pass fails to decrypt before it ends: so many failures mean that the key is at fault. */
export const MAX_UNREADABLE = 100;

/** Decrypts the items of a variable, and encrypts them under the active key. `Keyring` implements it. */
export type ItemSealer = Pick<Keyring, 'openItems' | 'sealItems'>;

export interface VariableRekeyingDeps {
  readonly tables: Pick<Tables, 'root_keys' | 'variables'>;
  readonly writer: Pick<HolderWriter, 'write'>;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Undefined: the keyring is off. */
  readonly sealer?: ItemSealer | undefined;
}

/**
 * Encrypts variables anew under the active key after a full rotation has retired their key, and makes a retired key inactive
 * when no variable uses it any more (OP-212, GC-86). Every rewrite is a check-and-set: after a newer write of the variable it
 * changes nothing, and the variable is processed again. Locks stay as they are. A variable that cannot be decrypted is logged
 * and keeps its key in state `rekeying`; it is tried again after REKEY_RETRY_MS.
 *
 * Memory: the names of MAX_UNREADABLE variables. Cost: O(keys) for a check; a decryption, an encryption and a transaction for each variable.
 */
export class VariableRekeying extends HousekeepingLoop {
  /** Variables that this pass failed to decrypt. */
  private readonly unreadable = new Set<string>();

  constructor(private readonly deps: VariableRekeyingDeps) {
    const { timers, sealer } = deps;
    super({ timers, firstPauseMs: REKEY_CHECK_MS, isNeeded: sealer !== undefined });
  }

  /** Encrypts one batch. */
  protected async runPass(): Promise<number> {
    const { sealer } = this.deps;
    if (!sealer) return REKEY_CHECK_MS;
    try {
      const batch = this.nextBatch();
      if (!batch) return this.endPass();
      for (const variable of batch.variables) await this.rekey(variable, sealer);
      if (batch.variables.length === 0) await this.retire(batch.key);
      return REKEY_PAUSE_MS;
    } catch (error) {
      if (!this.stopped) this.deps.logger.warn('variables could not be encrypted anew; trying again', { error });
      return REKEY_RETRY_MS;
    }
  }

  private endPass(): number {
    if (this.unreadable.size === 0) return REKEY_CHECK_MS;
    this.deps.logger.warn('old root keys are kept, because variables under them cannot be decrypted', {
      variables: this.unreadable.size,
    });
    this.unreadable.clear();
    return REKEY_RETRY_MS;
  }

  /** The first retired key that has variables to encrypt anew, or that no variable uses any more. */
  private nextBatch(): { readonly key: RootKey; readonly variables: readonly Variable[] } | undefined {
    if (this.unreadable.size >= MAX_UNREADABLE) return undefined;
    const { root_keys, variables } = this.deps.tables;
    const keys = [...root_keys.by('state', 'rekeying')].toSorted((a, b) => compareText(a.KeyID, b.KeyID));
    for (const key of keys) {
      const batch = this.readable(variables.by('rootKey', key.KeyID));
      if (batch.length > 0 || variables.count('rootKey', key.KeyID) === 0) return { key, variables: batch };
    }
    return undefined;
  }

  private readable(all: Iterable<Variable>): Variable[] {
    const batch: Variable[] = [];
    for (const variable of all) {
      if (batch.length === REKEY_BATCH) break;
      if (!this.unreadable.has(namespacedKey(variable.Namespace, variable.Path))) batch.push(variable);
    }
    return batch;
  }

  private async rekey(variable: Variable, sealer: ItemSealer): Promise<void> {
    if (this.stopped || this.unreadable.size >= MAX_UNREADABLE) return;
    const { Namespace, Path, Lock, ModifyIndex: CheckIndex } = variable;
    const items = await sealer.openItems(variable, variable).catch((error: unknown) => {
      this.unreadable.add(namespacedKey(Namespace, Path));
      this.deps.logger.error('a variable cannot be encrypted anew', { error, namespace: Namespace, path: Path });
      return undefined;
    });
    if (!items || this.stopped) return;
    const sealed = await sealer.sealItems(variable, items);
    const change = { Op: 'cas', Path, LockID: Lock?.ID ?? '', CheckIndex, ...sealed } as const;
    await this.deps.writer.write('VarApplyState', change, Namespace);
  }

  private async retire({ CreateIndex: _created, ModifyIndex: _modified, ...key }: RootKey): Promise<void> {
    await this.deps.writer.write('RootKeyUpsert', {
      Key: { ...key, State: 'inactive' },
      Rekey: false,
      MustExist: true,
    });
  }
}
