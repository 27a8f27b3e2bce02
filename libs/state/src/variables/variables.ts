import { Refusal, type Variable, type VariableLock } from '@waybill/model';
import type { TxnPayloads, VariableChange } from '../log/catalogue.js';
import type { Txn } from '../log/txn.js';
import type { Appliers } from '../machine/applier.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';
import { conflict, outcomeOf, type VariableConflict } from './variable-outcome.js';

export const variableAppliers: Appliers<'VarApplyState'> = { VarApplyState: applyVariable };

/** Refusal of a release or renewal if the variable or its lock does not exist (OP-201, OP-202). */
export const NO_VARIABLE = "variable doesn't exist";
export const NO_LOCK = "variable doesn't hold a lock";

/**
 * Type 50: changes a variable. The state machine alone decides whether a check-and-set holds and which writer has the
 * lock, in the order of the log (OP-198). A conflict is no refusal: the verdict's result contains the conflicting
 * variable (`variableOutcome`).
 */
function applyVariable(w: Write, change: TxnPayloads['VarApplyState'], { namespace }: Txn<'VarApplyState'>): void {
  const stored = w.tables.variables.get(namespacedKey(namespace, change.Path));
  const why = conflictWith(stored, change) ?? conflictOfKey(w, change);
  if (why !== undefined) {
    w.result = conflict(why, { Namespace: namespace, Path: change.Path }, stored);
    return;
  }
  switch (change.Op) {
    case 'set':
    case 'cas':
    case 'lock-acquire':
      put(w, written(w, namespace, change, stored));
      return;
    case 'delete':
    case 'delete-cas':
      w.remove('variables', namespacedKey(namespace, change.Path));
      return;
    case 'lock-release':
      put(w, released(w, stored));
  }
}

function put(w: Write, variable: Variable): void {
  w.put('variables', variable);
  w.result = outcomeOf(variable);
}

/**
 * The conflict of a change. The lock is checked before the index, so that a writer without the lock learns nothing else
 * (OP-201). A writer that names a lock must hold it: after the lock has ended, it must not overwrite the next holder's
 * write.
 */
function conflictWith(stored: Variable | undefined, change: VariableChange): VariableConflict['Why'] | undefined {
  const held = stored?.Lock?.ID ?? '';
  switch (change.Op) {
    case 'lock-acquire':
      return held === '' || held === change.Lock.ID ? undefined : 'lock';
    case 'lock-release':
      return isReleasable(stored?.Lock, change) ? undefined : 'lock';
    case 'set':
    case 'delete':
      return held === change.LockID ? undefined : 'lock';
    case 'cas':
    case 'delete-cas':
      if (held !== change.LockID) return 'lock';
      return (stored?.ModifyIndex ?? 0) === change.CheckIndex ? undefined : 'index';
  }
}

/** The conflict of items under a missing key, which could never be decrypted. */
function conflictOfKey({ tables }: Write, change: VariableChange): 'key' | undefined {
  return 'KeyID' in change && !tables.root_keys.has(change.KeyID) ? 'key' : undefined;
}

/** Whether the lock may be released; without a lock, `released` refuses. */
function isReleasable(
  lock: VariableLock | null | undefined,
  { LockID, AcquireIndex }: Extract<VariableChange, { readonly Op: 'lock-release' }>,
): boolean {
  if (!lock) return true;
  return lock.ID === LockID && (AcquireIndex === undefined || AcquireIndex === lock.AcquireIndex);
}

type WithItems = Extract<VariableChange, { readonly KeyID: string }>;

/** The variable with new items, under the same lock or one that was just acquired. */
function written(w: Write, Namespace: string, change: WithItems, stored: Variable | undefined): Variable {
  if (!w.tables.namespaces.has(Namespace))
    throw new Refusal('invalid', `variable "${change.Path}" is in nonexistent namespace "${Namespace}"`);
  return {
    Namespace,
    Path: change.Path,
    KeyID: change.KeyID,
    Data: change.Data,
    Lock: change.Op === 'lock-acquire' ? { ...change.Lock, AcquireIndex: w.index } : (stored?.Lock ?? null),
    CreateIndex: stored?.CreateIndex ?? w.index,
    CreateTime: stored?.CreateTime ?? w.timeNs,
    ModifyIndex: w.index,
    ModifyTime: w.timeNs,
  };
}

/** The variable without its lock; the items stay (OP-201). */
function released(w: Write, stored: Variable | undefined): Variable {
  if (!stored) throw new Refusal('not-found', NO_VARIABLE);
  if (!stored.Lock) throw new Refusal('conflict', NO_LOCK);
  return { ...stored, Lock: null, ModifyIndex: w.index, ModifyTime: w.timeNs };
}
