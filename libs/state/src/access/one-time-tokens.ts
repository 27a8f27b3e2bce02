import { isExpiredAt, msFromNs, type OneTimeToken, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { compareText } from '../machine/row-order.js';
import type { Write } from '../machine/write.js';

export const oneTimeTokenAppliers: Appliers<'OneTimeTokenUpsert' | 'OneTimeTokenDelete' | 'OneTimeTokenExpire'> = {
  OneTimeTokenUpsert: upsertOneTimeToken,
  OneTimeTokenDelete: exchangeOneTimeToken,
  OneTimeTokenExpire: expireOneTimeTokens,
};

/** The same refusal for every secret that cannot be exchanged, so that the caller learns nothing (OP-159). */
const denied = (): Refusal => new Refusal('forbidden', 'Permission denied');

/**
 * Type 44: stores a one-time token. An accessor has one at a time, and a new one replaces the old one (OP-159). Its
 * token must exist and not have expired (AU-241).
 */
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
 * Type 45: exchanges a one-time token, for one caller only (AU-242). The verdict's result is the accessor whose token
 * the caller gets. An expired one-time token cannot be exchanged, nor one whose token is gone (AU-243).
 */
function exchangeOneTimeToken(w: Write, { OneTimeSecretHash }: TxnPayloads['OneTimeTokenDelete']): void {
  const [token] = w.tables.one_time_token.by('secret', OneTimeSecretHash);
  if (!token || isExpiredAt(token.ExpiresAt, msFromNs(w.timeNs)) || !isAlive(w, token.AccessorID)) throw denied();
  w.remove('one_time_token', token.AccessorID);
  w.result = token.AccessorID;
}

/**
 * Type 46: deletes expired one-time tokens, in the order of accessors, which is the same in every copy. O(one-time
 * tokens), one for each accessor.
 */
function expireOneTimeTokens(w: Write, { Timestamp }: TxnPayloads['OneTimeTokenExpire']): void {
  const atMs = msFromNs(Timestamp);
  const expired = [...w.tables.one_time_token.all()].filter(({ ExpiresAt }) => isExpiredAt(ExpiresAt, atMs));
  const accessors = expired.map(({ AccessorID }) => AccessorID);
  for (const accessor of accessors.toSorted(compareText)) w.remove('one_time_token', accessor);
}

/** Whether the accessor's token exists and has not expired at the transaction's time. */
function isAlive({ tables, timeNs }: Write, accessor: string): boolean {
  const token = tables.acl_token.get(accessor);
  return token !== undefined && !isExpiredAt(token.ExpirationTime, msFromNs(timeNs));
}
