import type { Namespaces } from '@waybill/projection';
import { type JsonObject, stringOf } from './json-members.js';
import { namespaceOf, param, type QueryString } from './query-string.js';
import type { ApiRequest } from './reply.js';

const isObject = (json: unknown): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/**
 * A member that every request's body may have beside its subject; the query parameter goes first (API-28). The body's
 * region was followed before a controller sees the request (`forwardToRegions`).
 */
const inBody = (json: unknown, name: string): string => (isObject(json) ? stringOf(json, name) : '');

/** @param json the body, undefined when there was none @throws DecodeError */
export const namespaceOfWrite = (query: QueryString, json: unknown): string =>
  namespaceOf(query, inBody(json, 'Namespace') || undefined);

/**
 * As `namespaceOfWrite`, once the caller has there what the route needs.
 * @throws Refusal forbidden, DecodeError
 */
export const allowedNamespaceOfWrite = (
  { access, query }: Pick<ApiRequest, 'access' | 'query'>,
  json: unknown,
): string => access.inNamespace(namespaceOfWrite(query, json));

/** As `namespaceOfWrite`, where `*` stands for all namespaces (API-44). @throws DecodeError */
export function namespacesOfWrite(query: QueryString, json: unknown): Namespaces {
  const namespace = namespaceOfWrite(query, json);
  return namespace === '*' ? '*' : [namespace];
}

/** "": every dispatch is another one (API-177). @throws DecodeError */
export const idempotencyTokenOf = (query: QueryString, json: unknown): string =>
  param(query, 'idempotency_token') || inBody(json, 'IdempotencyToken');
