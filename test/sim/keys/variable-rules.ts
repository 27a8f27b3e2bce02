import type { Txn, VariableChange } from '@waybill/state';
import type { Vault } from './vault.js';

/** A lock as the log has it. */
export interface StoredLock {
  readonly id: string;
  readonly acquireIndex: number;
  readonly ttlMs: number;
  readonly delayMs: number;
}

/** A variable as the log has it. */
export interface StoredVariable {
  readonly path: string;
  /** The transaction that wrote it last. */
  readonly index: number;
  readonly keyId: string;
  /** As JSON; undefined: nobody can decrypt them. */
  readonly items: string | undefined;
  readonly lock: StoredLock | undefined;
}

/** Variables by path; there is one namespace with variables. */
export type StoredVariables = ReadonlyMap<string, StoredVariable>;

/** The outcome of a change by the rules of OP-196 to OP-202. */
export type Ruling =
  | { readonly kind: 'written'; readonly variable: StoredVariable }
  | { readonly kind: 'deleted' | 'nothing' | 'conflict' | 'refused' };

const MS = 1e6;

/**
 * Decides a change of a variable as the rules have it, in the order of the log. It shares no code with the state machine.
 * @param keyExists whether there is a root key with this ID at that moment
 */
export function rule(
  variables: StoredVariables,
  { payload: change, index, namespace }: Txn<'VarApplyState'>,
  keyExists: (keyId: string) => boolean,
  vault: Vault,
): Ruling {
  const stored = variables.get(change.Path);
  const lockId = stored?.lock?.id;
  if (change.Op === 'lock-release') {
    if (!stored?.lock) return { kind: 'refused' };
    const isOther = change.AcquireIndex !== undefined && change.AcquireIndex !== stored.lock.acquireIndex;
    if (change.LockID !== lockId || isOther) return { kind: 'conflict' };
    return { kind: 'written', variable: { ...stored, index, lock: undefined } };
  }
  const shown = change.Op === 'lock-acquire' ? change.Lock.ID : change.LockID;
  const mustHold = lockId !== undefined || (change.Op !== 'lock-acquire' && shown !== '');
  if (mustHold && shown !== lockId) return { kind: 'conflict' };
  if ('CheckIndex' in change && change.CheckIndex !== (stored?.index ?? 0)) return { kind: 'conflict' };
  if (change.Op === 'delete' || change.Op === 'delete-cas') return { kind: stored ? 'deleted' : 'nothing' };
  if (!keyExists(change.KeyID)) return { kind: 'conflict' };
  const items = vault.open(change.KeyID, namespace, change.Path, change.Data);
  const lock = change.Op === 'lock-acquire' ? lockOf(change, index) : stored?.lock;
  return { kind: 'written', variable: { path: change.Path, index, keyId: change.KeyID, items, lock } };
}

const lockOf = (
  { Lock }: Extract<VariableChange, { readonly Op: 'lock-acquire' }>,
  acquireIndex: number,
): StoredLock => ({
  id: Lock.ID,
  acquireIndex,
  ttlMs: Lock.TTL / MS,
  delayMs: Lock.LockDelay / MS,
});
