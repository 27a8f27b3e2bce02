import { ApiFailure } from './api-failure.js';
import type { Answers } from './contract.js';
import { currentToken } from './token.js';

/** Endpoint is a method and a path as in the API's description: `GET /v1/job/{jobID}`. */
export type Endpoint = keyof Answers;

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

export interface Asked<E extends Endpoint> {
  /** The parts of the path. A job's ID may have slashes, which are escaped. */
  readonly path?: Readonly<Record<PathNames<E>, string>>;
  /** The query. Undefined and empty values are omitted. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Calls the API and reads its JSON.
 * @throws ApiFailure
 */
export async function callApi<E extends Endpoint>(endpoint: E, asked: Asked<E> = {}): Promise<Answers[E]> {
  const [method = 'GET', template = ''] = endpoint.split(' ');
  const path = filledPath(template, asked.path ?? {}) + queryText(asked.query ?? {});
  const answer = await send(method, path, asked);
  return (await answer.json()) as Answers[E];
}

/** Sends a request with the caller's token. @throws ApiFailure if the status is not a success */
export async function send(
  method: string,
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal | undefined } = {},
): Promise<Response> {
  const token = currentToken();
  const headers: Record<string, string> = {
    ...(token !== '' && { 'X-Nomad-Token': token }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  const answer = await fetch(path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiFailure(0, method, path, 'The server cannot be reached.');
  });
  if (!answer.ok) throw new ApiFailure(answer.status, method, path, (await answer.text()) || answer.statusText);
  return answer;
}

/** Fills `{name}`s of a path with escaped values. */
export const filledPath = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));

/** Returns a query with its question mark. It is empty if there are no parameters. */
export function queryText(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
