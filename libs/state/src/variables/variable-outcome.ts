import type { Variable, VariableLock } from '@waybill/model';

/** Why a write of a variable changed nothing. */
export interface VariableConflict {
  /**
   * `lock`: its writer does not hold its lock, or no longer. `index`: the variable is not as its writer saw it. `key`: the
   * root key of the items was deleted after its writer had sealed them, so that nobody could read them.
   */
  readonly Why: 'lock' | 'index' | 'key';
  readonly Namespace: string;
  readonly Path: string;
  /** Of the variable as it was then; 0: there was none, or the writer may not know because of the lock. */
  readonly ModifyIndex: number;
}

/** What the writer of a variable does not know of it: whoever holds its lock knows the lock's ID. */
export interface WrittenVariable extends Pick<Variable, 'CreateIndex' | 'CreateTime' | 'ModifyIndex' | 'ModifyTime'> {
  readonly Lock: Pick<VariableLock, 'TTL' | 'LockDelay'> | null;
}

/**
 * The result of a verdict about a variable. It is kept with the history, so that it holds neither items, sealed or not, nor
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

/** What became of a write of a variable, by the result of its verdict; undefined: the result is of something else. */
export function variableOutcome(result: unknown): VariableOutcome | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  return 'Conflict' in result || 'Written' in result ? (result as VariableOutcome) : undefined;
}
