import type { Txn } from '@waybill/state';

/** A root key as the log has it. */
export interface StoredKey {
  readonly id: string;
  readonly state: string;
  /** Unix nanoseconds. */
  readonly createdNs: number;
  /** Unix nanoseconds; 0: it was never published before it was used. */
  readonly publishNs: number;
}

export type StoredKeys = ReadonlyMap<string, StoredKey>;

export type RootKeyTxn = Txn<'RootKeyUpsert'> | Txn<'RootKeyDelete'>;

/** The root keys after a step; undefined if the step is refused or changes nothing. */
export function ruleKeys(
  keys: StoredKeys,
  txn: RootKeyTxn,
  isInUse: (keyId: string) => boolean,
): StoredKeys | undefined {
  if (txn.type === 'RootKeyDelete') {
    const { KeyID, Force } = txn.payload;
    const key = keys.get(KeyID);
    if (!key || key.state === 'active' || (!Force && isInUse(KeyID))) return undefined;
    return new Map([...keys].filter(([id]) => id !== KeyID));
  }
  const { Key, Rekey, MustExist } = txn.payload;
  const known = keys.get(Key.KeyID);
  const isFirst = ![...keys.values()].some(({ state }) => state === 'active');
  if (known ? !isMove(known.state, Key.State) : MustExist || (Key.State !== 'active' && isFirst)) return undefined;
  const next = new Map(keys);
  if (Key.State === 'active')
    for (const [id, key] of keys)
      if (key.state === 'active') next.set(id, { ...key, state: Rekey ? 'rekeying' : 'inactive' });
      else if (Rekey && key.state === 'inactive') next.set(id, { ...key, state: 'rekeying' });
  const made = known ?? { id: Key.KeyID, createdNs: Key.CreateTime, publishNs: Key.PublishTime };
  return next.set(Key.KeyID, { ...made, state: Key.State });
}

/** A published key is used, and one whose variables are under another key rests. */
const isMove = (from: string, to: string): boolean =>
  (from === 'prepublished' && to === 'active') || (from === 'rekeying' && to === 'inactive');

const HOUR_NS = 3_600e9;
/** OP-214, AU-183: a key is used for so long, and the next one is published after half of it. */
const USED_NS = 720 * HOUR_NS;
/** An inactive key that nothing uses is kept for so long after its creation. */
const KEPT_NS = USED_NS + HOUR_NS;

/** Returns the work on keys that the servers have still to do, in words; undefined if there is none. @param nowNs true time */
export function dueOf(keys: StoredKeys, isInUse: (keyId: string) => boolean, nowNs: number): string | undefined {
  const all = [...keys.values()];
  const active = all.filter(({ state }) => state === 'active');
  if (active.length !== 1) return `there are ${active.length} active root keys`;
  const rekeying = all.find(({ state }) => state === 'rekeying');
  if (rekeying) return `variables under root key ${rekeying.id} are not encrypted anew`;
  const published = all.filter(({ state }) => state === 'prepublished');
  const late = published.find(({ publishNs }) => publishNs <= nowNs);
  if (late) return `root key ${late.id} should be active`;
  if (published.length === 0 && (active[0]?.createdNs ?? 0) < nowNs - USED_NS / 2)
    return 'the next root key should be published';
  const left = all.find(
    ({ id, state, createdNs }) => state === 'inactive' && createdNs < nowNs - KEPT_NS && !isInUse(id),
  );
  return left && `root key ${left.id} should be gone`;
}

/** Whether a holder may remove a key at this time, which only an operator may hurry. @param nowNs of its clock */
export const isOld = ({ state, createdNs }: StoredKey, nowNs: number): boolean =>
  state === 'inactive' && createdNs < nowNs - KEPT_NS;
