import type { QueryString } from './query-string.js';

/**
 * RoutedRequest is what the router found in a request. Code that needs a part of the URL takes it from here, so the URL
 * is parsed only once.
 */
export interface RoutedRequest {
  readonly url: string;
  readonly query: QueryString;
  readonly params: Readonly<Record<string, string>>;
  /** The route that was found: its declared path and its `bodyLimit` in bytes. */
  readonly routeOptions: { readonly url?: string; readonly bodyLimit?: number };
}
