import { SharedRun } from '@waybill/model';
import type { ReadPoint } from '@waybill/projection';
import type { TableName } from '@waybill/state';
import type { Watched } from './blocking-query.js';
import { compactJson, PrintedJson } from './printed-json.js';
import type { ReadResult } from './read-result.js';

/** Most bytes of all cached responses of one process. */
export const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** Most cached responses of any size: a client with another filter in every request must not fill the memory. */
export const MAX_CACHED_RESPONSES = 5_000;
/** Longest wait for the announcement of a change that PostgreSQL already has, ms. After it, a read queries PostgreSQL. */
export const ANNOUNCEMENT_WAIT_MS = 50;

/** Tells which cached responses are still valid. */
export interface ReadModelChanges {
  /** Returns how far PostgreSQL is, at a moment after the call. */
  readonly readPoint: () => Promise<ReadPoint>;
  /** Resolves with true once all changes up to this index are announced to this process, or with false after `timeoutMs`. */
  readonly announced: (index: number, timeoutMs: number) => Promise<boolean>;
  /** Calls `run` synchronously when a watched row has changed, or may have. Returns a function that stops watching. */
  readonly onChangeOf: (watched: Watched, run: () => void) => () => void;
}

/** The data on which a response depends. */
export interface CachedRead {
  /** The rows and groups of rows whose change may change the response. */
  readonly watched: Watched;
  /** The tables whose index a list carries (API-54). Empty if the response carries the index of its object. */
  readonly tables: readonly TableName[];
  /** Whether the client accepts a response that lags behind a little (API-57). */
  readonly mayLag: boolean;
}

interface CachedResponse extends ReadResult {
  readonly value: PrintedJson;
  readonly stopWatching: () => void;
}

/**
 * Caches responses to reads, because dashboards, scripts and monitors send the same requests all day. A response is valid
 * until a change of its rows is announced. A read must also show each write that another API process has acknowledged
 * (API-56). Therefore each read queries how far PostgreSQL is, in one statement for all reads of that moment, and waits
 * until the projector has announced that index to this process. A response that is still cached then is as new as
 * PostgreSQL. A read that may lag skips the statement.
 *
 * Modes of a response: in flight → cached → evicted. Requests for a response in flight wait for it, and use it if it is new
 * enough for them, so each response is queried once at a time.
 *
 * Limits: MAX_CACHED_BYTES, MAX_CACHED_RESPONSES; the least recently used response is evicted first. The compressed forms
 * (`Packed`) live as long as their responses and need additional memory. A response that depends on the caller must have a
 * key that contains the difference. Cost of a cached response: one statement of one row, shared by all reads of the same
 * moment. A change costs the responses that watch its rows.
 */
export class ResponseCache {
  private readonly cached = new Map<string, CachedResponse>();
  private readonly inFlight = new Map<string, Promise<ReadResult>>();
  private readonly readPoints: SharedRun<ReadPoint>;
  private bytes = 0;
  private seenTo = 0;

  constructor(
    private readonly changes: ReadModelChanges,
    private readonly maxBytes = MAX_CACHED_BYTES,
    private readonly maxResponses = MAX_CACHED_RESPONSES,
  ) {
    this.readPoints = new SharedRun(changes.readPoint);
  }

  /**
   * Returns the cached response if it is valid, otherwise that of the query.
   * @param key contains everything on which the response depends
   * @throws any error of the query or PostgreSQL
   */
  async getOrQuery(key: string, read: CachedRead, query: () => Promise<ReadResult>): Promise<ReadResult> {
    const earlier = this.inFlight.get(key);
    const known = this.cached.get(key);
    if (known && read.mayLag) return this.markUsed(key, known);
    if (!known && !earlier) return this.runQuery(key, read.watched, query);

    const point = await this.currentPoint();
    const isAnnounced = await this.changes.announced(point.applied, ANNOUNCEMENT_WAIT_MS);
    const validNow = (): ReadResult | undefined => {
      const current = isAnnounced ? this.cached.get(key) : undefined;
      return current && atIndex(this.markUsed(key, current), tableIndexOf(read.tables, point));
    };
    const current = validNow();
    if (current) return current;
    const made = await earlier;
    if (made && read.tables.length > 0 && made.index >= tableIndexOf(read.tables, point)) return made;
    // A query that is in flight now was started after this read came.
    return validNow() ?? this.inFlight.get(key) ?? this.runQuery(key, read.watched, query);
  }

  /** Evicts every response. */
  clear(): void {
    for (const key of this.cached.keys()) this.evictResponse(key);
  }

  private async currentPoint(): Promise<ReadPoint> {
    const point = await this.readPoints.requestRun();
    // PostgreSQL goes back if the log lost its end and an operator adopted it. Cached responses may show lost writes.
    if (point.applied < this.seenTo) this.clear();
    this.seenTo = point.applied;
    return point;
  }

  private runQuery(key: string, watched: Watched, query: () => Promise<ReadResult>): Promise<ReadResult> {
    let cached: CachedResponse | undefined;
    let hasChanged = false;
    const stopWatching = this.changes.onChangeOf(watched, () => {
      hasChanged = true;
      if (cached && this.cached.get(key) === cached) this.evictResponse(key);
    });
    const running = query()
      .then((result) => {
        if (result.value === undefined) return result;
        const value = result.value instanceof PrintedJson ? result.value : new PrintedJson(compactJson(result.value));
        const response = { ...result, value };
        if (hasChanged || value.text.length > this.maxBytes) return response;
        cached = { ...response, stopWatching };
        this.storeResponse(key, cached);
        return response;
      })
      .finally(() => {
        if (!cached) stopWatching();
        this.inFlight.delete(key);
      });
    this.inFlight.set(key, running);
    return running;
  }

  private markUsed(key: string, response: CachedResponse): CachedResponse {
    this.cached.delete(key);
    this.cached.set(key, response);
    return response;
  }

  private storeResponse(key: string, response: CachedResponse): void {
    this.evictResponse(key);
    this.cached.set(key, response);
    this.bytes += response.value.text.length;
    for (const oldest of this.cached.keys()) {
      if (this.bytes <= this.maxBytes && this.cached.size <= this.maxResponses) break;
      this.evictResponse(oldest);
    }
  }

  private evictResponse(key: string): void {
    const evicted = this.cached.get(key);
    if (!evicted) return;
    this.cached.delete(key);
    this.bytes -= evicted.value.text.length;
    evicted.stopWatching();
  }
}

const tableIndexOf = (tables: readonly TableName[], { tableIndexes }: ReadPoint): number =>
  Math.max(0, ...tables.map((table) => tableIndexes[table] ?? 0));

/** Raises the index of a list to that of its tables: without a change of its rows, the list is as new as they are. */
const atIndex = (response: ReadResult, tableIndex: number): ReadResult =>
  response.index >= tableIndex ? response : { ...response, index: tableIndex };
