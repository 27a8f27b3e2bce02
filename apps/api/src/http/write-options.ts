import type { Namespaces } from '@waybill/projection';
import { type JsonObject, stringOf } from './json-members.js';
import { namespaceOf, param, type QueryString } from './query-string.js';
import type { ApiRequest } from './reply.js';

const isObject = (json: unknown): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/**
 * Reads a member that every request's body may have besides its subject. The query parameter takes precedence (API-28).
 * A request for the body's region is forwarded before a controller sees it (`forwardToRegions`).
 */
const inBody = (json: unknown, name: string): string => (isObject(json) ? stringOf(json, name) : '');

/** @param json the body, or undefined if there was none @throws DecodeError */
export const namespaceOfWrite = (query: QueryString, json: unknown): string =>
  namespaceOf(query, inBody(json, 'Namespace') || undefined);

/**
 * Returns what `namespaceOfWrite` returns if the caller has the route's need there.
 * @throws Refusal forbidden, DecodeError
 */
export const allowedNamespaceOfWrite = (
  { access, query }: Pick<ApiRequest, 'access' | 'query'>,
  json: unknown,
): string => access.inNamespace(namespaceOfWrite(query, json));

/** Returns what `namespaceOfWrite` returns; `*` stands for all namespaces (API-44). @throws DecodeError */
export function namespacesOfWrite(query: QueryString, json: unknown): Namespaces {
  const namespace = namespaceOfWrite(query, json);
  return namespace === '*' ? '*' : [namespace];
}

/** Returns the token of the request. If it is "", every dispatch is a new one (API-177). @throws DecodeError */
export const idempotencyTokenOf = (query: QueryString, json: unknown): string =>
  param(query, 'idempotency_token') || inBody(json, 'IdempotencyToken');
