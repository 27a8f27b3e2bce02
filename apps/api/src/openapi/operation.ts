import { type JsonSchema, listOf, text } from './schema.js';

export type Method = 'get' | 'put' | 'post' | 'delete';

/** Operation is one request that the API answers. */
export interface Operation {
  readonly method: Method;
  /** The path, with `{name}` for a variable part. */
  readonly path: string;
  readonly summary: string;
  /** The names of parameters, besides those of every request. */
  readonly query: readonly string[];
  /** The body. It is undefined if the operation reads none. */
  readonly body: JsonSchema | undefined;
  /** The answer. It is undefined if it is empty or not JSON. */
  readonly answer: JsonSchema | undefined;
}

interface More {
  readonly query?: readonly string[];
  readonly body?: JsonSchema;
  readonly answer?: JsonSchema;
}

const one =
  (method: Method) =>
  (path: string, summary: string, more: More = {}): Operation[] => [
    { method, path, summary, query: more.query ?? [], body: more.body, answer: more.answer },
  ];

/** The parameters of blocking queries and of lists (sections 1.7, 1.8 of the reference). */
export const BLOCKING = ['index', 'wait', 'stale'] as const;
export const LISTED = [...BLOCKING, 'prefix', 'per_page', 'next_token', 'filter', 'reverse'] as const;

export const get = one('get');
export const put = one('put');
export const remove = one('delete');
/** Describes a write. PUT and POST are the same on nearly every endpoint that writes (API-4). */
export const write = (path: string, summary: string, more: More = {}): Operation[] => [
  ...one('put')(path, summary, more),
  ...one('post')(path, summary, more),
];
export const post = one('post');
/** Describes a read of one object, which may be a blocking query. */
export const read = (path: string, summary: string, answer: JsonSchema, query: readonly string[] = []): Operation[] =>
  get(path, summary, { answer, query: ['namespace', ...BLOCKING, ...query] });
/** Describes a list in pages. */
export const list = (path: string, summary: string, row: JsonSchema, query: readonly string[] = []): Operation[] =>
  get(path, summary, { answer: listOf(row), query: ['namespace', ...LISTED, ...query] });
/** Describes a stream of something other than JSON. */
export const stream = (path: string, summary: string, query: readonly string[] = []): Operation[] =>
  get(path, summary, { query });
/**
 * Describes an endpoint that answers 501 to every method, because only the commercial edition of the reference has it
 * (API-9).
 */
export const absent = (path: string, summary: string): Operation[] => [
  ...get(path, summary),
  ...write(path, summary),
  ...remove(path, summary),
];

export const names: JsonSchema = listOf(text);
