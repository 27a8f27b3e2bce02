import type { Namespaces, Page } from '@waybill/projection';
import { namespaceOf, param, perPageParam, type QueryString } from './query-string.js';
import type { ApiRequest } from './reply.js';

/** Returns the page that a list request asks for (API-62 to API-66). @throws Refusal invalid */
export function pageOf(query: QueryString): Page {
  return {
    perPage: perPageParam(query),
    nextToken: param(query, 'next_token') ?? '',
    reverse: param(query, 'reverse') === 'true',
  };
}

/** Returns the namespaces that a list request names; `*` stands for all (API-44). */
export function namespacesOf(query: QueryString): Namespaces {
  const namespace = namespaceOf(query);
  return namespace === '*' ? '*' : [namespace];
}

/**
 * Returns the namespaces that a list request names, without those that its caller may not list (API-44, OP-140).
 * @throws Refusal forbidden if none is left
 */
export const allowedNamespacesOf = ({ access, query }: Pick<ApiRequest, 'access' | 'query'>): Promise<Namespaces> =>
  access.namespaces(namespacesOf(query));
