import { type Namespaces, wholeTables } from '@waybill/projection';
import type { TableName } from '@waybill/state';
import type { RequestAccess } from '../access/request-access.js';
import { notFound } from './api-error.js';
import type { BlockingQueries, Watched } from './blocking-query.js';
import type { KeptAnswers, KeptRead } from './kept-answers.js';
import type { ReadResult } from './read-result.js';
import type { ReadModelAge } from './log-contact.js';
import { indexParam, staleParam, waitParam } from './query-string.js';
import { type ApiReply, type ApiRequest, sendJson, setReadHeaders, whenClosed } from './reply.js';

/** A list whose answers are kept. */
export interface KeptList {
  /** The tables whose index the answer carries. */
  readonly tables: readonly TableName[];
  /** The rows whose change may change the list; absent: every row of the tables. */
  readonly watched?: Watched;
  /** The namespaces of the list: callers who may list others get another answer. */
  readonly scope: Namespaces;
}

/** A query of one object. */
export interface ObjectQuery {
  readonly query: () => Promise<ReadResult>;
  /** Text of the 404 when there is no value. */
  readonly missing: string;
}

/** A query of one object whose answers are kept, so that `query` must not depend on who asks. */
export interface KeptObject extends ObjectQuery {
  readonly watched: Watched;
  /** The caller's rights, where the route learns only from the object in which namespace it is (`ReadResult.namespace`). */
  readonly shownTo?: RequestAccess;
}

/** Answers reads of replicated state: blocking, with their headers, found or not (API-31, API-33, API-47 to API-58). */
export class Reads {
  constructor(
    private readonly blocking: BlockingQueries,
    private readonly age: () => ReadModelAge,
    private readonly kept: KeptAnswers,
  ) {}

  /** A list with the index of its tables; the answer is kept while nothing of it changes. */
  async list(
    request: ApiRequest,
    reply: ApiReply,
    { tables, watched = wholeTables(tables), scope }: KeptList,
    query: () => Promise<ReadResult>,
  ): Promise<void> {
    const read = this.keptRead(request, watched, tables);
    const key = keyOf(request, scope);
    await this.answer(request, reply, watched, () => this.kept.of(key, read, query));
  }

  /** One object with its index; the answer is kept while the object does not change. */
  async object(request: ApiRequest, reply: ApiReply, { watched, query, missing, shownTo }: KeptObject): Promise<void> {
    const read = this.keptRead(request, watched, []);
    const key = keyOf(request);
    const answer = (): Promise<ReadResult> => this.kept.of(key, read, query);
    const shown = shownTo ? async () => visibleTo(shownTo, await answer()) : answer;
    await this.answerObject(request, reply, watched, { query: shown, missing });
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
    staleParam(request.query); // refused when it is malformed (API-57)
    const minIndex = indexParam(request.query);
    const options = {
      minIndex,
      waitMs: waitParam(request.query),
      signal: minIndex === 0 ? NEVER : goneSignal(reply),
    };
    this.send(request, reply, await this.blocking.runQuery(options, watched, query), missing);
  }

  /** An answer that waits for nothing: `index` and `wait` are ignored (API-59). */
  async answerAtOnce(request: ApiRequest, reply: ApiReply, query: () => Promise<ReadResult>): Promise<void> {
    const options = { minIndex: 0, waitMs: 0, signal: NEVER };
    this.send(request, reply, await this.blocking.runQuery(options, [], query), 'not found');
  }

  private keptRead({ query }: ApiRequest, watched: Watched, tables: readonly TableName[]): KeptRead {
    return { watched, tables, mayLag: staleParam(query) && this.age().lastContactMs === 0 };
  }

  /** @throws Refusal not-found when there is no value, with the headers of a read set (API-33) */
  private send(request: ApiRequest, reply: ApiReply, answer: ReadResult, missing: string): void {
    setReadHeaders(reply, { ...this.age(), index: answer.index, nextToken: answer.nextToken });
    if (answer.value === undefined) throw notFound(missing);
    sendJson(request, reply, answer.value);
  }
}

/** Parameters that say how to wait for an answer and how to print it, and do not change it. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['index', 'wait', 'stale', 'consistent', 'pretty', 'region']);

/** Of a request that does not wait: nothing has to end when its client goes away. */
const NEVER = new AbortController().signal;

/** Another key for everything that an answer depends on. */
function keyOf({ url, query }: ApiRequest, scope: Namespaces = []): string {
  const names = Object.keys(query).filter((name) => !WITHOUT_EFFECT.has(name));
  const path = url.split('?', 1)[0] ?? '';
  return JSON.stringify([path, scope, ...names.toSorted().map((name) => [name, query[name]])]);
}

/** The answer if the caller may see its object, otherwise that of an unknown object. @throws Refusal forbidden */
function visibleTo(access: RequestAccess, answer: ReadResult): ReadResult {
  const { namespace } = answer;
  const shown = access.visible(namespace === undefined ? undefined : { Namespace: namespace });
  return shown ? answer : { ...answer, value: undefined };
}

/** Aborted when the client goes away before it was answered (API-58), or has gone already. */
export function goneSignal({ raw }: Pick<ApiReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  whenClosed(raw, () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
