import { type Namespaces, wholeTables } from '@waybill/projection';
import type { TableName } from '@waybill/state';
import type { RequestAccess } from '../access/request-access.js';
import { notFound } from './api-error.js';
import type { BlockingQueries, Watched } from './blocking-query.js';
import type { ResponseCache, CachedRead } from './response-cache.js';
import type { ReadResult } from './read-result.js';
import type { ReadModelAge } from './log-contact.js';
import { indexParam, staleParam, waitParam } from './query-string.js';
import { type ApiReply, type ApiRequest, sendJson, setReadHeaders, whenClosed } from './reply.js';

/** A list whose responses are cached. */
export interface CachedList {
  /** The tables whose index the response carries. */
  readonly tables: readonly TableName[];
  /** The rows whose change may change the list. By default every row of the tables. */
  readonly watched?: Watched;
  /** The namespaces of the list. Callers who may list other namespaces get another response. */
  readonly scope: Namespaces;
}

/** A query of one object. */
export interface ObjectQuery {
  readonly query: () => Promise<ReadResult>;
  /** Text of the 404 if there is no value. */
  readonly missing: string;
}

/** A query of one object whose responses are cached, so `query` must not depend on the caller. */
export interface CachedObject extends ObjectQuery {
  readonly watched: Watched;
  /** The caller's rights, if only the object itself tells its namespace (`ReadResult.namespace`). */
  readonly shownTo?: RequestAccess;
}

/** Responds to reads of replicated state: blocking queries, headers, and missing objects (API-31, API-33, API-47 to API-58). */
export class Reads {
  constructor(
    private readonly blocking: BlockingQueries,
    private readonly age: () => ReadModelAge,
    private readonly cache: ResponseCache,
  ) {}

  /** Responds with a list and the index of its tables. The response is cached until a row of the list changes. */
  async list(
    request: ApiRequest,
    reply: ApiReply,
    { tables, watched = wholeTables(tables), scope }: CachedList,
    query: () => Promise<ReadResult>,
  ): Promise<void> {
    const read = this.cachedRead(request, watched, tables);
    const key = keyOf(request, scope);
    await this.answer(request, reply, watched, () => this.cache.getOrQuery(key, read, query));
  }

  /** Responds with one object and its index. The response is cached until the object changes. */
  async object(
    request: ApiRequest,
    reply: ApiReply,
    { watched, query, missing, shownTo }: CachedObject,
  ): Promise<void> {
    const read = this.cachedRead(request, watched, []);
    const key = keyOf(request);
    const answer = (): Promise<ReadResult> => this.cache.getOrQuery(key, read, query);
    const shown = shownTo ? async () => visibleTo(shownTo, await answer()) : answer;
    await this.answerObject(request, reply, watched, { query: shown, missing });
  }

  /** @param watched the rows whose change may change the response */
  answer(request: ApiRequest, reply: ApiReply, watched: Watched, query: () => Promise<ReadResult>): Promise<void> {
    return this.answerObject(request, reply, watched, { query, missing: 'not found' });
  }

  /** Like `answer`, with a text of its own for the 404. */
  async answerObject(
    request: ApiRequest,
    reply: ApiReply,
    watched: Watched,
    { query, missing }: ObjectQuery,
  ): Promise<void> {
    staleParam(request.query); // refused when it is malformed (API-57)
    const minIndex = indexParam(request.query);
    const options = {
      minIndex,
      waitMs: waitParam(request.query),
      signal: minIndex === 0 ? NEVER : goneSignal(reply),
    };
    this.send(request, reply, await this.blocking.runQuery(options, watched, query), missing);
  }

  /** Responds without waiting: `index` and `wait` are ignored (API-59). */
  async answerAtOnce(request: ApiRequest, reply: ApiReply, query: () => Promise<ReadResult>): Promise<void> {
    const options = { minIndex: 0, waitMs: 0, signal: NEVER };
    this.send(request, reply, await this.blocking.runQuery(options, [], query), 'not found');
  }

  private cachedRead({ query }: ApiRequest, watched: Watched, tables: readonly TableName[]): CachedRead {
    return { watched, tables, mayLag: staleParam(query) && this.age().lastContactMs === 0 };
  }

  /** @throws Refusal not-found if there is no value; the headers of a read are set all the same (API-33) */
  private send(request: ApiRequest, reply: ApiReply, answer: ReadResult, missing: string): void {
    setReadHeaders(reply, { ...this.age(), index: answer.index, nextToken: answer.nextToken });
    if (answer.value === undefined) throw notFound(missing);
    sendJson(request, reply, answer.value);
  }
}

/** Parameters for waiting and printing, which do not change the content of a response. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['index', 'wait', 'stale', 'consistent', 'pretty', 'region']);

/** Signal of a request that does not wait, so nothing must end when its client disconnects. */
const NEVER = new AbortController().signal;

/** Returns a key that contains everything on which a response depends. */
function keyOf({ url, query }: ApiRequest, scope: Namespaces = []): string {
  const names = Object.keys(query).filter((name) => !WITHOUT_EFFECT.has(name));
  const path = url.split('?', 1)[0] ?? '';
  return JSON.stringify([path, scope, ...names.toSorted().map((name) => [name, query[name]])]);
}

/** Returns the response if the caller may see its object, otherwise that for a missing object. @throws Refusal forbidden */
function visibleTo(access: RequestAccess, answer: ReadResult): ReadResult {
  const { namespace } = answer;
  const shown = access.visible(namespace === undefined ? undefined : { Namespace: namespace });
  return shown ? answer : { ...answer, value: undefined };
}

/** Returns a signal that is aborted when the client disconnects before the response (API-58), or already has. */
export function goneSignal({ raw }: Pick<ApiReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  whenClosed(raw, () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
