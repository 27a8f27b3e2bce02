import type { WireObject } from '../encoding/wire-object.js';
import { formatDuration } from '../time/duration.js';

/** A stored lock: its holder alone may write the variable. Durations are in ns. */
export interface VariableLock {
  /** Identifies the holder. Whoever knows it can act as the holder, so few callers may see it (OP-203). */
  ID: string;
  TTL: number;
  /** Time for which the lock still counts as held after its holder has fallen silent (OP-202). */
  LockDelay: number;
  /** Index of the last transaction that acquired the lock, for the first time or again. */
  AcquireIndex: number;
}

/** A stored variable. Its items are sealed (OP-204). Times are in unix ns. */
export interface Variable {
  Namespace: string;
  Path: string;
  /** ID of the root key that seals the items. */
  KeyID: string;
  /** The sealed items, base64. */
  Data: string;
  Lock: VariableLock | null;
  CreateIndex: number;
  CreateTime: number;
  ModifyIndex: number;
  ModifyTime: number;
}

/** The members of a lock that its writer sets. The state machine sets the index when it applies the write. */
export type VariableLockRequest = Omit<VariableLock, 'AcquireIndex'>;

/** How much of a lock a caller may see. */
export type ShownLock =
  /** Not even whether there is a lock. */
  | 'hidden'
  /** Everything except its ID (EV-53). */
  | 'withoutId'
  | 'whole';

/**
 * Encodes the parts of a variable that its listing may show: everything except its items. The lock is left out if there
 * is none.
 */
export function encodeVariableMetadata(variable: Variable, lock: ShownLock): WireObject {
  const { Namespace, Path, Lock, CreateIndex, CreateTime, ModifyIndex, ModifyTime } = variable;
  const shown = Lock !== null && lock !== 'hidden' && { Lock: encodeLock(Lock, lock === 'whole' ? Lock.ID : '') };
  return { Namespace, Path, ...shown, CreateIndex, CreateTime, ModifyIndex, ModifyTime };
}

const encodeLock = ({ TTL, LockDelay }: VariableLock, ID: string): WireObject => ({
  ID,
  TTL: formatDuration(TTL),
  LockDelay: formatDuration(LockDelay),
});
