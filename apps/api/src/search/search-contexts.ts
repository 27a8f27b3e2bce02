import { badRequest } from '../http/api-error.js';

/** The contexts that can be searched, by clients' names (API-250). */
export const SEARCH_CONTEXTS = [
  'allocs',
  'deployment',
  'evals',
  'jobs',
  'namespaces',
  'node_pools',
  'nodes',
  'plugins',
  'scaling_policy',
  'vars',
  'volumes',
  'host_volumes',
] as const;

export type SearchContext = (typeof SEARCH_CONTEXTS)[number];

/** Returns the contexts of a request: all of them for `all` and for none. @throws Refusal invalid */
export function contextsOf(given: string): readonly SearchContext[] {
  if (given === '' || given === 'all') return SEARCH_CONTEXTS;
  const one = SEARCH_CONTEXTS.find((context) => context === given);
  if (one) return [one];
  throw badRequest(
    `context must be one of [${SEARCH_CONTEXTS.join(' ')}] or 'all' for all contexts; got ${JSON.stringify(given)}`,
  );
}
