import { DEFAULT_NAMESPACE, wire } from '@waybill/model';
import { durationField } from '../acl/duration-field.js';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { param, type QueryString } from '../http/query-string.js';

/** GivenLock is a lock as a client sends it. Durations are in nanoseconds, and 0 if they are missing. */
export interface GivenLock {
  ID: string;
  TTL: number;
  LockDelay: number;
}

/** GivenVariable is a variable as a client sends it. Members that the servers determine are ignored. */
export interface GivenVariable {
  Namespace: string;
  Items: Record<string, string> | null;
  Lock: GivenLock | null;
}

/** VariableOperation is what a request does to a variable. The query selects it (OP-196, OP-199). */
export type VariableOperation =
  | { readonly op: 'write' | 'lock-acquire' | 'lock-release' | 'lock-renew' }
  | { readonly op: 'cas'; readonly checkIndex: number };

const LOCK: wire.Shape<GivenLock> = {
  name: 'VariableLock',
  fields: { ID: wire.string(), TTL: durationField, LockDelay: durationField },
};
const VARIABLE: wire.Shape<GivenVariable> = {
  name: 'VariableDecrypted',
  fields: { Namespace: wire.string(), Items: wire.map(wire.string()), Lock: wire.object(LOCK) },
};

/** @throws Refusal invalid; DecodeError if a member has the wrong type */
export const readVariable = (body: unknown): GivenVariable => wire.decodeShape(VARIABLE, readJsonBody(body));

/**
 * Returns the namespace of a write. The body's namespace takes precedence over the query's (OP 10.1). @throws Refusal
 * invalid
 */
export function namespaceOfWrite(query: QueryString, given: Pick<GivenVariable, 'Namespace'>): string {
  const namespace = given.Namespace || param(query, 'namespace') || DEFAULT_NAMESPACE;
  if (namespace === '*') throw badRequest('can not target wildcard ("*")namespace');
  return namespace;
}

const LOCK_OPERATIONS = ['lock-acquire', 'lock-release', 'lock-renew'] as const;

/** @throws Refusal invalid */
export function operationOf(query: QueryString): VariableOperation {
  const checkIndex = checkIndexOf(query);
  const [op, ...others] = LOCK_OPERATIONS.filter((name) => query[name] !== undefined);
  if (others.length > 0) throw badRequest('multiple lock operations');
  if (op !== undefined && checkIndex !== undefined) throw badRequest("CAS can't be used with lock operations");
  if (op !== undefined) return { op };
  return checkIndex === undefined ? { op: 'write' } : { op: 'cas', checkIndex };
}

const LARGEST_INDEX = 2n ** 64n - 1n;

/** Returns the index to check. It is undefined if the write is not checked. @throws Refusal invalid */
export function checkIndexOf(query: QueryString): number | undefined {
  const text = param(query, 'cas');
  if (text === undefined || text === '') return undefined;
  const invalidRequest = (why: string) =>
    badRequest(`can not parse cas: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^\d+$/.test(text)) throw invalidRequest('invalid syntax');
  if (text.length > 20 || BigInt(text) > LARGEST_INDEX) throw invalidRequest('value out of range');
  return Number(text);
}
