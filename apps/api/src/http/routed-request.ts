import type { QueryString } from './query-string.js';

/** What the router found in a request. Who wants a part of the URL takes it from here: the URL is never read twice. */
export interface RoutedRequest {
  readonly url: string;
  readonly query: QueryString;
  readonly params: Readonly<Record<string, string>>;
  /** The route that was found: its path as it was declared, its `bodyLimit` in bytes. */
  readonly routeOptions: { readonly url?: string; readonly bodyLimit?: number };
}
