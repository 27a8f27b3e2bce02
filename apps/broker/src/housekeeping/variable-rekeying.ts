import type { Keyring } from '@waybill/keyring';
import type { CancelTimer, RootKey, Timers, Variable } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { compareText, namespacedKey, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** How often it is looked for keys whose variables are to be encrypted anew. */
export const REKEY_LOOK_MS = 5_000;
/** Variables that are encrypted anew before the next pause (GC-86: 100 a second at most). */
export const REKEY_BATCH = 100;
export const REKEY_PAUSE_MS = 1_000;
/** After a pass that could not read every variable, or could not write. */
export const REKEY_RETRY_MS = 10 * 60_000;
/** A pass ends when it could not read so many: it is the key then, not the variables. */
export const MAX_UNREADABLE = 100;

/** Opens what a variable holds, and seals it under the active key. `Keyring` is one. */
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
 * Encrypts the variables of keys that a full rotation has retired under the active key, and retires each key for good when
 * it has none left (OP-212, GC-86). Every rewrite is a check-and-set: one that meets a newer write changes nothing, and the
 * variable is looked at again. Locks stay as they are. A variable that cannot be decrypted is named in the log and keeps its
 * key in state `rekeying`; it is tried again after REKEY_RETRY_MS.
 *
 * Modes: running (start → stop), one term long. Memory: the names of MAX_UNREADABLE variables. Cost: O(keys) a look;
 * a decryption, an encryption and a transaction for each variable.
 */
export class VariableRekeying {
  private cancelNext: CancelTimer | undefined;
  private stopped = false;
  /** Of this pass. */
  private readonly unreadable = new Set<string>();

  constructor(private readonly deps: VariableRekeyingDeps) {}

  start(): void {
    if (this.deps.sealer) this.continueAfter(REKEY_LOOK_MS, this.deps.sealer);
  }

  stop(): void {
    this.stopped = true;
    this.cancelNext?.();
  }

  private continueAfter(pauseMs: number, sealer: ItemSealer): void {
    if (this.stopped) return;
    this.cancelNext = this.deps.timers.after(pauseMs, () => {
      void this.step(sealer).then((nextMs) => this.continueAfter(nextMs, sealer));
    });
  }

  /** Resolves with the pause before the next step, ms. */
  private async step(sealer: ItemSealer): Promise<number> {
    try {
      const work = this.nextWork();
      if (!work) return this.endPass();
      for (const variable of work.variables) await this.rekey(variable, sealer);
      if (work.variables.length === 0) await this.retire(work.key);
      return REKEY_PAUSE_MS;
    } catch (error) {
      if (!this.stopped) this.deps.logger.warn('variables could not be encrypted anew; trying again', { error });
      return REKEY_RETRY_MS;
    }
  }

  private endPass(): number {
    if (this.unreadable.size === 0) return REKEY_LOOK_MS;
    this.deps.logger.warn('old root keys are kept, because variables under them cannot be decrypted', {
      variables: this.unreadable.size,
    });
    this.unreadable.clear();
    return REKEY_RETRY_MS;
  }

  /** The first key that has variables to rewrite, or none at all. */
  private nextWork(): { readonly key: RootKey; readonly variables: readonly Variable[] } | undefined {
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
