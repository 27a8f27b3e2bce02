import type { BlockingQueries, Watched } from './blocking-query.js';
import { ApiError } from './api-error.js';
import { indexParam, staleParam, waitParam } from './query-string.js';
import { type ApiReply, type ApiRequest, sendJson, setReadHeaders } from './reply.js';

/** What one run of a read gives. */
export interface ReadResult {
  /** What the client may send back as `index` (API-54). */
  readonly index: number;
  /** Encoded for the client; undefined: not found. */
  readonly value: unknown;
  readonly nextToken?: string;
}

/** What the read model knows of itself. */
export interface ReadModelAge {
  /** ms since it was current; 0 when it is. */
  readonly lastContactMs: number;
  readonly knownLeader: boolean;
}

/** Answers reads of replicated state: blocking, with their headers, found or not (API-31, API-33, API-47 to API-58). */
export class Reads {
  constructor(
    private readonly blocking: BlockingQueries,
    private readonly age: () => ReadModelAge,
  ) {}

  /**
   * @param watched what a change of may change the answer
   * @param missing text of the 404 when there is no value
   */
  async answer(
    request: ApiRequest,
    reply: ApiReply,
    watched: Watched,
    query: () => Promise<ReadResult>,
    missing = 'not found',
  ): Promise<void> {
    staleParam(request.query); // accepted, refused when malformed; every read is of the one read model (API-57)
    const options = {
      minIndex: indexParam(request.query),
      waitMs: waitParam(request.query),
      signal: goneSignal(reply),
    };
    const answer = await this.blocking.run(options, watched, query);
    setReadHeaders(reply, { ...this.age(), index: answer.index, nextToken: answer.nextToken });
    if (answer.value === undefined) throw new ApiError(404, missing);
    sendJson(request, reply, answer.value);
  }
}

/** Aborted when the client goes away before it was answered (API-58). */
export function goneSignal(reply: ApiReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
