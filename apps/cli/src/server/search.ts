import type { ApiClient } from './api-client.js';
import { failed } from '../failure.js';

/** Response of `PUT /v1/search`: up to 20 IDs per context, the exact one first (API-250). */
export interface SearchAnswer {
  readonly Matches: Readonly<Record<string, readonly string[] | null>>;
}

/** @throws CommandFailure */
export async function search(api: ApiClient, prefix: string, context: string): Promise<SearchAnswer> {
  const { value } = await api
    .put<SearchAnswer>('/v1/search', { Prefix: prefix, Context: context })
    .catch((error: unknown) => {
      throw failed('querying search with id', error);
    });
  return value;
}
