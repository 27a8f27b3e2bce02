import type { Namespaces, Page } from '@waybill/projection';
import { namespaceOf, param, perPageParam, type QueryString } from './query-string.js';

/** The page a list request asks for (API-62 to API-66). @throws Refusal invalid */
export function pageOf(query: QueryString): Page {
  return {
    perPage: perPageParam(query),
    nextToken: param(query, 'next_token') ?? '',
    reverse: param(query, 'reverse') === 'true',
  };
}

/** API-44. */
export function namespacesOf(query: QueryString): Namespaces {
  const namespace = namespaceOf(query);
  return namespace === '*' ? '*' : [namespace];
}
