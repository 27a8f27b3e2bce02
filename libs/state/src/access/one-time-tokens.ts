import { isExpiredAt, msFromNs, type OneTimeToken, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { compareText } from '../machine/row-order.js';
import type { Write } from '../machine/write.js';

export const oneTimeTokenAppliers: Appliers<'OneTimeTokenUpsert' | 'OneTimeTokenDelete' | 'OneTimeTokenExpire'> = {
  OneTimeTokenUpsert: upsertOneTimeToken,
  OneTimeTokenDelete: exchange,
  OneTimeTokenExpire: expire,
};

/** What is said of everything that is no right to exchange: who has none learns nothing (OP-159). */
const denied = (): Refusal => new Refusal('forbidden', 'Permission denied');

/** Type 44. An accessor has one at a time: a new one replaces the old (OP-159). Only a token that lives has one (AU-241). */
function upsertOneTimeToken(w: Write, { Token }: TxnPayloads['OneTimeTokenUpsert']): void {
  const { AccessorID, OneTimeSecretHash, ExpiresAt } = Token;
  if (!isAlive(w, AccessorID)) throw denied();
  const row: OneTimeToken = {
    AccessorID,
    OneTimeSecretHash,
    ExpiresAt,
    CreateIndex: w.index,
    ModifyIndex: w.index,
  };
  w.put('one_time_token', row);
}

/**
 * Type 45: a one-time token is spent, by one caller (AU-242). The verdict's result is the accessor whose token the caller
 * gets. Neither an expired one nor that of a token which is gone is spent (AU-243).
 */
function exchange(w: Write, { OneTimeSecretHash }: TxnPayloads['OneTimeTokenDelete']): void {
  const [token] = w.tables.one_time_token.by('secret', OneTimeSecretHash);
  if (!token || isExpiredAt(token.ExpiresAt, msFromNs(w.timeNs)) || !isAlive(w, token.AccessorID)) throw denied();
  w.remove('one_time_token', token.AccessorID);
  w.result = token.AccessorID;
}

/** Type 46, in the order of accessors, the same in every copy. O(one-time tokens), of which there is one per accessor. */
function expire(w: Write, { Timestamp }: TxnPayloads['OneTimeTokenExpire']): void {
  const atMs = msFromNs(Timestamp);
  const expired = [...w.tables.one_time_token.all()].filter(({ ExpiresAt }) => isExpiredAt(ExpiresAt, atMs));
  const accessors = expired.map(({ AccessorID }) => AccessorID);
  for (const accessor of accessors.toSorted(compareText)) w.remove('one_time_token', accessor);
}

/** Whether the accessor's token is there and has not expired at the transaction's time. */
function isAlive({ tables, timeNs }: Write, accessor: string): boolean {
  const token = tables.acl_token.get(accessor);
  return token !== undefined && !isExpiredAt(token.ExpirationTime, msFromNs(timeNs));
}
