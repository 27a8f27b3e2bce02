import type { WireObject } from '../encoding/wire-object.js';
import { formatDuration } from '../time/duration.js';

/** Who may write a variable at the moment, as it is stored. Durations in ns. */
export interface VariableLock {
  /** By which its holder is known. Whoever knows it can take the holder's place, so that few may see it (OP-203). */
  ID: string;
  TTL: number;
  /** How long the lock still counts as held after its holder has fallen silent (OP-202). */
  LockDelay: number;
  /** Index of the last transaction that acquired it, first or again. */
  AcquireIndex: number;
}

/** A variable as it is stored: what it holds is sealed (OP-204). Times in unix ns. */
export interface Variable {
  Namespace: string;
  Path: string;
  /** Of the root key that its items are sealed with. */
  KeyID: string;
  /** The sealed items, base64. */
  Data: string;
  Lock: VariableLock | null;
  CreateIndex: number;
  CreateTime: number;
  ModifyIndex: number;
  ModifyTime: number;
}

/** What a writer asks of a lock; the index is known where it is applied. */
export type VariableLockRequest = Omit<VariableLock, 'AcquireIndex'>;

/** What somebody sees of the lock. */
export type ShownLock =
  /** Nothing, not even that there is one. */
  | 'hidden'
  /** All but its ID (EV-53). */
  | 'withoutId'
  | 'whole';

/** What may be seen of a variable by who may list it: all but its items. The lock is left out if there is none. */
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
