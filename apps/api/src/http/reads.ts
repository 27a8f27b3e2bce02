import { notFound } from './api-error.js';
import type { BlockingQueries, Watched } from './blocking-query.js';
import type { Namespaces } from '@waybill/projection';
import type { TableName } from '@waybill/state';
import type { ReadResult } from './read-result.js';
import type { ListAnswers } from './list-answers.js';
import type { ReadModelAge } from './log-contact.js';
import { indexParam, staleParam, waitParam } from './query-string.js';
import { type ApiReply, type ApiRequest, sendJson, setReadHeaders, whenClosed } from './reply.js';

/** A list whose answers are kept. */
export interface KeptList {
  readonly table: TableName;
  /** The namespaces of the list: callers who may list others get another answer. */
  readonly scope: Namespaces;
}

/** A query of one object. */
export interface ObjectQuery {
  readonly query: () => Promise<ReadResult>;
  /** Text of the 404 when there is no value. */
  readonly missing: string;
}

/** Answers reads of replicated state: blocking, with their headers, found or not (API-31, API-33, API-47 to API-58). */
export class Reads {
  constructor(
    private readonly blocking: BlockingQueries,
    private readonly age: () => ReadModelAge,
    private readonly lists: ListAnswers,
  ) {}

  /** A list of rows of one table, with its index; kept while the table does not change. */
  async list(
    request: ApiRequest,
    reply: ApiReply,
    { table, scope }: KeptList,
    query: () => Promise<ReadResult>,
  ): Promise<void> {
    const key = listKey(request, scope);
    await this.answer(request, reply, [[table, '*']], () => this.lists.of(key, table, query));
  }

  /** @param watched what a change of may change the answer */
  answer(request: ApiRequest, reply: ApiReply, watched: Watched, query: () => Promise<ReadResult>): Promise<void> {
    return this.answerObject(request, reply, watched, { query, missing: 'not found' });
  }

  /** Like `answer`, with a 404 of its own. */
  async answerObject(
    request: ApiRequest,
    reply: ApiReply,
    watched: Watched,
    { query, missing }: ObjectQuery,
  ): Promise<void> {
    staleParam(request.query); // accepted, refused when malformed; every read is of the one read model (API-57)
    const options = {
      minIndex: indexParam(request.query),
      waitMs: waitParam(request.query),
      signal: goneSignal(reply),
    };
    this.send(request, reply, await this.blocking.runQuery(options, watched, query), missing);
  }

  /** An answer that waits for nothing: `index` and `wait` are ignored (API-59). */
  async answerAtOnce(request: ApiRequest, reply: ApiReply, query: () => Promise<ReadResult>): Promise<void> {
    const options = { minIndex: 0, waitMs: 0, signal: goneSignal(reply) };
    this.send(request, reply, await this.blocking.runQuery(options, [], query), 'not found');
  }

  /** @throws Refusal not-found when there is no value, with the headers of a read set (API-33) */
  private send(request: ApiRequest, reply: ApiReply, answer: ReadResult, missing: string): void {
    setReadHeaders(reply, { ...this.age(), index: answer.index, nextToken: answer.nextToken });
    if (answer.value === undefined) throw notFound(missing);
    sendJson(request, reply, answer.value);
  }
}

/** How the answer is waited for and printed does not change it. */
const BESIDE_THE_LIST: ReadonlySet<string> = new Set(['index', 'wait', 'stale', 'consistent', 'pretty', 'region']);

function listKey({ url, query }: ApiRequest, scope: Namespaces): string {
  const names = Object.keys(query).filter((name) => !BESIDE_THE_LIST.has(name));
  const path = url.split('?', 1)[0] ?? '';
  return JSON.stringify([path, scope, ...names.toSorted().map((name) => [name, query[name]])]);
}

/** Aborted when the client goes away before it was answered (API-58), or has gone already. */
export function goneSignal({ raw }: Pick<ApiReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  whenClosed(raw, () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
