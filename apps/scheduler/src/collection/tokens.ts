import { isExpiredAt, msFromNs, nsFromRfc3339, rfc3339FromNs } from '@waybill/model';
import { MAX_REAPED_TOKENS } from '@waybill/rpc';
import { compareText } from '@waybill/state';
import type { Scan } from './scan.js';

interface Expired {
  readonly accessor: string;
  readonly expiredNs: number;
}

/**
 * Collects tokens that have expired and were created before the cutoff (GC-76): the oldest expiry first, at most one
 * request in a run (GC-77). Local and global tokens are never in one request (GC-78); each region has a log of its own
 * and collects both. Without access control there are none. O(tokens).
 */
export const collectTokens =
  (locality: 'local' | 'global') =>
  async ({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> => {
    const expired: Expired[] = [];
    for await (const token of pace.through(tables.acl_token.all())) {
      const { AccessorID, Global, CreateTime, ExpirationTime } = token;
      if (Global !== (locality === 'global') || !isExpiredAt(ExpirationTime, msFromNs(nowNs))) continue;
      if (nsFromRfc3339(CreateTime) > nowNs - thresholds.tokenNs) continue;
      expired.push({ accessor: AccessorID, expiredNs: nsFromRfc3339(ExpirationTime) });
    }
    const oldest = expired.toSorted((a, b) => a.expiredNs - b.expiredNs || compareText(a.accessor, b.accessor));
    const accessors = oldest.slice(0, MAX_REAPED_TOKENS).map(({ accessor }) => accessor);
    await batches.addTokens(accessors, rfc3339FromNs(nowNs) ?? '');
  };

/** Collects expired one-time tokens, all in one transaction that carries the time (GC-74). O(one-time tokens). */
export async function collectOneTimeTokens({ tables, nowNs, batches, pace }: Scan): Promise<void> {
  for await (const { ExpiresAt } of pace.through(tables.one_time_token.all()))
    if (isExpiredAt(ExpiresAt, msFromNs(nowNs))) return batches.addOneTimeTokens(nowNs);
}
