import type { Variable, VariableLock } from '@waybill/model';

/** The conflict of a variable's write that changed nothing. */
export interface VariableConflict {
  /**
   * `lock`: the writer does not hold the variable's lock, or no longer. `index`: the variable was changed since the
   * writer read it. `key`: the root key of the items was deleted after the writer had sealed them, so that they could
   * not be decrypted.
   */
  readonly Why: 'lock' | 'index' | 'key';
  readonly Namespace: string;
  readonly Path: string;
  /** Index of the variable at that time; 0: there was none, or the writer may not know because of the lock. */
  readonly ModifyIndex: number;
}

/** The fields of a variable that its writer does not know: a holder of its lock knows the lock's ID. */
export interface WrittenVariable extends Pick<Variable, 'CreateIndex' | 'CreateTime' | 'ModifyIndex' | 'ModifyTime'> {
  readonly Lock: Pick<VariableLock, 'TTL' | 'LockDelay'> | null;
}

/**
 * The result of a verdict on a variable. It is stored in the history, so it contains neither items, sealed or not, nor
 * a lock's ID. A deletion has none, unless it is a conflict.
 */
export type VariableOutcome = { readonly Conflict: VariableConflict } | { readonly Written: WrittenVariable };

export const conflict = (
  Why: VariableConflict['Why'],
  { Namespace, Path }: Pick<Variable, 'Namespace' | 'Path'>,
  stored: Variable | undefined,
): VariableOutcome => ({
  Conflict: { Why, Namespace, Path, ModifyIndex: Why === 'index' ? (stored?.ModifyIndex ?? 0) : 0 },
});

export const outcomeOf = ({ Lock, CreateIndex, CreateTime, ModifyIndex, ModifyTime }: Variable): VariableOutcome => ({
  Written: {
    CreateIndex,
    CreateTime,
    ModifyIndex,
    ModifyTime,
    Lock: Lock && { TTL: Lock.TTL, LockDelay: Lock.LockDelay },
  },
});

/** The outcome of a variable's write, from the result of its verdict; undefined: the result is of another type. */
export function variableOutcome(result: unknown): VariableOutcome | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  return 'Conflict' in result || 'Written' in result ? (result as VariableOutcome) : undefined;
}
