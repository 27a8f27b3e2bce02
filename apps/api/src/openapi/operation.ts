import { type JsonSchema, listOf, text } from './schema.js';

export type Method = 'get' | 'put' | 'post' | 'delete';

/** One thing that can be asked of the API. */
export interface Operation {
  readonly method: Method;
  /** With `{name}` where a part is chosen. */
  readonly path: string;
  readonly summary: string;
  /** Names of parameters, beside those that every request takes. */
  readonly query: readonly string[];
  /** Undefined: no body is read. */
  readonly body: JsonSchema | undefined;
  /** Undefined: the answer is empty, or no JSON. */
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

/** What blocks until its index moves, and what lists take (sections 1.7, 1.8 of the reference). */
export const BLOCKING = ['index', 'wait', 'stale'] as const;
export const LISTED = [...BLOCKING, 'prefix', 'per_page', 'next_token', 'filter', 'reverse'] as const;

export const get = one('get');
export const put = one('put');
export const remove = one('delete');
/** PUT and POST are the same on nearly every endpoint that writes (API-4). */
export const write = (path: string, summary: string, more: More = {}): Operation[] => [
  ...one('put')(path, summary, more),
  ...one('post')(path, summary, more),
];
export const post = one('post');
/** A read of one object, which waits where the client wants. */
export const read = (path: string, summary: string, answer: JsonSchema, query: readonly string[] = []): Operation[] =>
  get(path, summary, { answer, query: ['namespace', ...BLOCKING, ...query] });
/** A list in pages. */
export const list = (path: string, summary: string, row: JsonSchema, query: readonly string[] = []): Operation[] =>
  get(path, summary, { answer: listOf(row), query: ['namespace', ...LISTED, ...query] });
/** What streams something else than JSON. */
export const stream = (path: string, summary: string, query: readonly string[] = []): Operation[] =>
  get(path, summary, { query });
/** Answers 501 to every method: only the commercial edition of the reference has it (API-9). */
export const absent = (path: string, summary: string): Operation[] => [
  ...get(path, summary),
  ...write(path, summary),
  ...remove(path, summary),
];

export const names: JsonSchema = listOf(text);
