import { isClientTerminal, Refusal, type RootKey } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { compareText } from '../machine/row-order.js';
import type { Tables } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

export const rootKeyAppliers: Appliers<'RootKeyUpsert' | 'RootKeyDelete' | 'RootKeyRewrap'> = {
  RootKeyUpsert: upsertRootKey,
  RootKeyDelete: deleteRootKey,
  RootKeyRewrap: rewrapRootKey,
};

/** The active root key (OP-210); undefined if none was made yet. */
export function activeRootKey({ root_keys }: Pick<Tables, 'root_keys'>): RootKey | undefined {
  for (const key of root_keys.by('state', 'active')) return key;
  return undefined;
}

/**
 * The key that signs the identities of an allocation (AU-137): the one that was active when it was placed, or the
 * active one if that was deleted (AU-185). Undefined: there is no key.
 */
export function signingKeyOf(
  tables: Pick<Tables, 'root_keys'>,
  { SigningKeyID }: { readonly SigningKeyID: string },
): RootKey | undefined {
  return tables.root_keys.get(SigningKeyID) ?? activeRootKey(tables);
}

/** The root keys of a copy of the state, as a keyring reads them. */
export function rootKeysOf(state: { readonly tables: Pick<Tables, 'root_keys'> }): {
  readonly find: (keyId: string) => RootKey | undefined;
  readonly active: () => RootKey | undefined;
  readonly all: () => Iterable<RootKey>;
} {
  return {
    find: (keyId) => state.tables.root_keys.get(keyId),
    active: () => activeRootKey(state.tables),
    all: () => state.tables.root_keys.all(),
  };
}

/**
 * Whether an object still needs the key (OP-214). O(nodes + allocations): keys are deleted by hand or once a month, and
 * an index would cost every placement.
 */
export function isRootKeyInUse(
  { allocs, nodes, variables }: Pick<Tables, 'allocs' | 'nodes' | 'variables'>,
  keyId: string,
): boolean {
  if (variables.count('rootKey', keyId) > 0) return true;
  for (const node of nodes.all()) if (node.IdentitySigningKeyID === keyId) return true;
  for (const alloc of allocs.all()) if (alloc.SigningKeyID === keyId && !isClientTerminal(alloc)) return true;
  return false;
}

/**
 * Returns the IDs of the root keys that may be collected, in order: they are inactive, were made before a time (unix ns)
 * and are not in use (GC-80, GC-81). O(keys), and for each old key the check whether it is in use.
 */
export function collectableRootKeys(
  tables: Pick<Tables, 'root_keys' | 'allocs' | 'nodes' | 'variables'>,
  madeBeforeNs: number,
): string[] {
  return [...tables.root_keys.all()]
    .filter(({ State, CreateTime }) => State === 'inactive' && CreateTime < madeBeforeNs)
    .map(({ KeyID }) => KeyID)
    .filter((keyId) => !isRootKeyInUse(tables, keyId))
    .toSorted(compareText);
}

/**
 * Allowed changes of a stored key's state: a prepublished key becomes active, and one whose variables were encrypted
 * anew inactive.
 */
const MOVES: Readonly<Partial<Record<RootKey['State'], RootKey['State']>>> = {
  prepublished: 'active',
  rekeying: 'inactive',
};

/**
 * Type 62: stores a root key, or changes its state. A key that becomes active makes the previous one inactive, or
 * rekeying (OP-212).
 */
function upsertRootKey(w: Write, { Key, Rekey, MustExist }: TxnPayloads['RootKeyUpsert']): void {
  const stored = w.tables.root_keys.get(Key.KeyID);
  if (stored) {
    if (stored.State === Key.State) return;
    if (MOVES[stored.State] !== Key.State)
      throw new Refusal('conflict', `root key ${Key.KeyID} is ${stored.State} and cannot become ${Key.State}`);
  } else if (MustExist) throw new Refusal('not-found', ROOT_KEY_NOT_FOUND);
  else if (Key.State !== 'active' && !activeRootKey(w.tables))
    throw new Refusal('invalid', 'the first root key must be active');
  if (Key.State === 'active') retireOthers(w, Rekey);
  w.put('root_keys', stored ? inState(w, stored, Key.State) : newRow(w, Key));
}

function newRow(w: Write, said: TxnPayloads['RootKeyUpsert']['Key']): RootKey {
  const { KeyID, Algorithm, State, CreateTime, PublishTime, PublicKey, Wrapped } = said;
  const indexes = { CreateIndex: w.index, ModifyIndex: w.index };
  return { KeyID, Algorithm, State, CreateTime, PublishTime, PublicKey, Wrapped, ...indexes };
}

const inState = (w: Write, stored: RootKey, State: RootKey['State']): RootKey => ({
  ...stored,
  State,
  ModifyIndex: w.index,
});

/**
 * Retires the other keys. With `rekey`, everything that old keys encrypt must be encrypted anew, also that of keys
 * before the last one.
 */
function retireOthers(w: Write, rekey: boolean): void {
  const retired = [...w.tables.root_keys.all()].filter(
    ({ State }) => State === 'active' || (rekey && State === 'inactive'),
  );
  for (const key of retired.toSorted((a, b) => compareText(a.KeyID, b.KeyID)))
    w.put('root_keys', inState(w, key, rekey ? 'rekeying' : 'inactive'));
}

export const ROOT_KEY_NOT_FOUND = 'root key not found';
/** Type 102: replaces the wrapped parts of a root key; the key itself stays the same (OP-210). */
function rewrapRootKey(w: Write, { KeyID, Wrapped }: TxnPayloads['RootKeyRewrap']): void {
  const stored = w.tables.root_keys.get(KeyID);
  if (!stored) throw new Refusal('not-found', ROOT_KEY_NOT_FOUND);
  w.put('root_keys', { ...stored, Wrapped, ModifyIndex: w.index });
}

const ACTIVE_KEY = 'active root key cannot be deleted - call rotate first';
const KEY_IN_USE = 'root key in use, cannot delete';

/** Type 52: deletes a root key (OP-213). Signatures of a deleted key are invalid (AU-185). */
function deleteRootKey(w: Write, { KeyID, Force }: TxnPayloads['RootKeyDelete']): void {
  const stored = w.tables.root_keys.get(KeyID);
  if (!stored) throw new Refusal('not-found', ROOT_KEY_NOT_FOUND);
  if (stored.State === 'active') throw new Refusal('invalid', ACTIVE_KEY);
  if (!Force && isRootKeyInUse(w.tables, KeyID)) throw new Refusal('conflict', KEY_IN_USE);
  w.remove('root_keys', KeyID);
}
