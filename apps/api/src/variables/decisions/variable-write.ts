import {
  checkVariableItems,
  checkVariableLock,
  DEFAULT_LOCK_DELAY_NS,
  DEFAULT_LOCK_TTL_NS,
  Refusal,
  type VariableLockRequest,
} from '@waybill/model';
import type { Items, Owner, SealedItems } from '@waybill/keyring';
import type { VariableChange } from '@waybill/state';
import type { GivenLock, GivenVariable, VariableOperation } from '../variable-request.js';

/** The largest size in bytes of a lock's ID. Holders may choose one; servers make UUIDs. */
export const MAX_LOCK_ID_BYTES = 128;

/** UnsealedWrite is a write whose items are not encrypted yet. */
export type UnsealedWrite = {
  readonly items: Items;
  readonly seal: (sealed: SealedItems) => VariableChange;
  /** The ID of the lock that the write acquires; absent if it acquires none. */
  readonly acquires?: string;
};

/** ReadyWrite is a write that changes no items. */
export type ReadyWrite = { readonly change: VariableChange };

/**
 * Returns the change of a variable that a request asks for. Applying it decides whether the change is allowed (OP-198).
 * @param newId makes the ID of a lock
 * @throws Refusal invalid
 */
export function variableWrite(
  { Path }: Owner,
  given: GivenVariable,
  operation: Exclude<VariableOperation, { readonly op: 'lock-renew' }>,
  newId: () => string,
): UnsealedWrite | ReadyWrite {
  if (operation.op === 'lock-release') return { change: release(Path, given) };
  const items = given.Items ?? {};
  checkVariableItems(items);
  if (operation.op === 'lock-acquire') {
    const Lock = lockToAcquire(given.Lock, newId);
    return { items, seal: (sealed) => ({ Op: 'lock-acquire', Path, Lock, ...sealed }), acquires: Lock.ID };
  }
  const LockID = heldLockId(given.Lock);
  if (operation.op === 'cas') {
    const CheckIndex = operation.checkIndex;
    return { items, seal: (sealed) => ({ Op: 'cas', Path, LockID, CheckIndex, ...sealed }) };
  }
  return { items, seal: (sealed) => ({ Op: 'set', Path, LockID, ...sealed }) };
}

/** @param checkIndex if it is undefined, the variable may have any index */
export function variableDelete(Path: string, lock: GivenLock | null, checkIndex: number | undefined): VariableChange {
  const LockID = heldLockId(lock);
  if (checkIndex === undefined) return { Op: 'delete', Path, LockID };
  return { Op: 'delete-cas', Path, LockID, CheckIndex: checkIndex };
}

/** Returns the ID of the lock that a release or renewal names (OP-201, OP-202). @throws Refusal invalid */
export function namedLockId({ Lock }: Pick<GivenVariable, 'Lock'>): string {
  if (!Lock?.ID) throw new Refusal('invalid', 'missing lock information');
  return checkedId(Lock.ID);
}

function release(Path: string, given: GivenVariable): VariableChange {
  if (given.Items) throw new Refusal('invalid', "lock release operation doesn't take variable items");
  return { Op: 'lock-release', Path, LockID: namedLockId(given) };
}

/**
 * Returns the lock of a plain write. The write names the lock that its writer holds, and does not change it (OP-195).
 */
function heldLockId(lock: GivenLock | null): string {
  if (!lock) return '';
  if (lock.TTL !== 0 || lock.LockDelay !== 0)
    throw new Refusal('invalid', 'variable should not contain lock definition');
  return checkedId(lock.ID);
}

/** Returns the lock to acquire. A holder that acquires it again names its ID (OP-200). */
function lockToAcquire(given: GivenLock | null, newId: () => string): VariableLockRequest {
  const lock = {
    ID: checkedId(given?.ID ?? '') || newId(),
    TTL: given?.TTL || DEFAULT_LOCK_TTL_NS,
    LockDelay: given?.LockDelay || DEFAULT_LOCK_DELAY_NS,
  };
  checkVariableLock(lock);
  return lock;
}

function checkedId(id: string): string {
  if (Buffer.byteLength(id) > MAX_LOCK_ID_BYTES)
    throw new Refusal('invalid', `a lock ID has at most ${MAX_LOCK_ID_BYTES} bytes`);
  return id;
}
