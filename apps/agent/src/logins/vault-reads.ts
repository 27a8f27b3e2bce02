import type { LoginRead, ReadAnswer, ReadContext } from './login-read.js';
import { jsonOf, memberOf, numberOf, ServerRefusedError, textOf } from './server-call.js';
import { vaultHeaders, vaultPath } from './vault.js';

/** The time after which a secret without a lease is read again, in milliseconds. */
export const DEFAULT_LEASE_MS = 300_000;
const NOT_FOUND = 404;
/** A secret that is not there is looked for again after this time. */
const ABSENT_AGAIN_MS = 60_000;
const MIN_AGAIN_MS = 1_000;

/** Returns the read of a secret (AG-298). @param name JSON of its path and of the fields that are written to get it */
export function vaultSecret(name: string): LoginRead {
  const [path = '', ...written] = textsIn(name);
  const body = written.length === 0 ? undefined : fieldsOf(written);
  return async (context) => {
    const renewed = await renewedLease(context);
    return renewed ?? secretOf(await request(context, path, body), context);
  };
}

/** Returns the texts of a question, which the templates of this agent have written. */
function textsIn(name: string): readonly string[] {
  const texts: unknown = JSON.parse(name);
  return Array.isArray(texts) ? texts.map(String) : [];
}

/** Returns the list of names below a path (AG-298). */
export function vaultList(path: string): LoginRead {
  return async (context) => {
    const found = await request(context, path, undefined, '?list=true');
    const keys = memberOf(memberOf(found, 'data'), 'keys');
    const value = Array.isArray(keys) ? keys.map(String).toSorted() : [];
    return { value, index: 0, againMs: againAfter(DEFAULT_LEASE_MS, context) };
  };
}

const fieldsOf = (written: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    written.map((field) => {
      const at = field.indexOf('=');
      return at === -1 ? [field, ''] : [field.slice(0, at), field.slice(at + 1)];
    }),
  );

/** Returns the answer to a request; undefined if there is nothing at the path. */
async function request(
  { opened, token, signal }: ReadContext,
  path: string,
  body: object | undefined,
  query = '',
): Promise<unknown> {
  const headers = vaultHeaders(token, opened.wanted.namespace || opened.server.namespace);
  const method = body ? 'PUT' : 'GET';
  const call = { method, path: `${vaultPath(path)}${query}`, headers, signal, ...(body && { body }) } as const;
  const answer = await opened.server.call(call);
  return answer.status === NOT_FOUND ? undefined : jsonOf(answer, 'Vault');
}

function secretOf(found: unknown, context: ReadContext): ReadAnswer {
  const data = memberOf(found, 'data');
  if (data === undefined || data === null) return { value: undefined, index: 0, againMs: ABSENT_AGAIN_MS };
  const leaseId = textOf(memberOf(found, 'lease_id'));
  const renewable = memberOf(found, 'renewable') === true;
  const leaseMs = numberOf(memberOf(found, 'lease_duration')) * 1_000;
  const value = {
    RequestID: textOf(memberOf(found, 'request_id')),
    LeaseID: leaseId,
    LeaseDuration: leaseMs / 1_000,
    Renewable: renewable,
    Data: data,
  };
  if (renewable && leaseId !== '' && leaseMs > 0)
    return { value, index: 0, leaseId, againMs: Math.max(MIN_AGAIN_MS, leaseMs / 2) };
  return { value, index: 0, againMs: dueMs(data, leaseMs, context) };
}

/** Returns when a secret that cannot be renewed is read again: at 85 to 95 percent of its life. */
function dueMs(data: unknown, leaseMs: number, context: ReadContext): number {
  // A static role says when its password changes next.
  const rotatesInMs = numberOf(memberOf(data, 'ttl')) * 1_000;
  if (memberOf(data, 'rotation_period') !== undefined && rotatesInMs > 0) return rotatesInMs + MIN_AGAIN_MS;
  // A certificate says when it ends.
  const endsAtMs = numberOf(memberOf(data, 'expiration')) * 1_000;
  if (memberOf(data, 'certificate') !== undefined && endsAtMs > 0)
    return againAfter(endsAtMs - context.nowMs(), context);
  return againAfter(leaseMs > 0 ? leaseMs : DEFAULT_LEASE_MS, context);
}

const againAfter = (lifeMs: number, { random }: Pick<ReadContext, 'random'>): number =>
  Math.max(MIN_AGAIN_MS, lifeMs * (0.85 + 0.1 * random()));

/** Renews the lease of the last answer. @returns undefined if there is none, or it cannot be renewed any further */
async function renewedLease(context: ReadContext): Promise<ReadAnswer | undefined> {
  const { last } = context;
  if (!last?.leaseId) return undefined;
  try {
    const renewed = await request(context, 'sys/leases/renew', { lease_id: last.leaseId });
    const leaseMs = numberOf(memberOf(renewed, 'lease_duration')) * 1_000;
    // Vault cuts renewals at the longest life of a lease. Then the secret is read anew.
    const isCut = leaseMs < last.againMs;
    return isCut ? undefined : { ...last, againMs: Math.max(MIN_AGAIN_MS, leaseMs / 2) };
  } catch (error) {
    if (error instanceof ServerRefusedError) return undefined;
    throw error;
  }
}
