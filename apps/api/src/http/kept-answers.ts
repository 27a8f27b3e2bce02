import { SharedRun } from '@waybill/model';
import type { ReadPoint } from '@waybill/projection';
import type { TableName } from '@waybill/state';
import type { Watched } from './blocking-query.js';
import { compactJson, PrintedJson } from './printed-json.js';
import type { ReadResult } from './read-result.js';

/** Bytes of answers kept by one process, all together. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Kept answers, however small: a client that puts another filter into every request must not fill the memory. */
export const MAX_ANSWERS = 5_000;
/** Longest wait for the announcement of a change that PostgreSQL has already, ms. After it a read asks PostgreSQL. */
export const ANNOUNCED_WITHIN_MS = 50;

/** Tells which kept answers still count. */
export interface AnswerChanges {
  /** How far PostgreSQL is, at a moment after the call. */
  readonly readPoint: () => Promise<ReadPoint>;
  /** True once everything up to this index has been announced here; false if that takes longer than `timeoutMs`. */
  readonly announced: (index: number, timeoutMs: number) => Promise<boolean>;
  /** Calls `run` synchronously when a watched row has changed, or may have. Returns a function that ends this. */
  readonly onChangeOf: (watched: Watched, run: () => void) => () => void;
}

/** The data on which an answer depends. */
export interface KeptRead {
  /** The rows and groups of rows whose change may change the answer. */
  readonly watched: Watched;
  /** The tables whose index a list carries (API-54); empty: the answer carries the index of its object. */
  readonly tables: readonly TableName[];
  /** The client takes an answer that lags behind a little (API-57). */
  readonly mayLag: boolean;
}

interface KeptAnswer extends ReadResult {
  readonly value: PrintedJson;
  readonly stopWatching: () => void;
}

/**
 * Keeps answers of reads, because dashboards, scripts and monitors send the same requests all day. An answer is kept until a
 * change of its rows is announced. A read must also show each write that another API process has acknowledged (API-56). So
 * each read asks PostgreSQL how far it is, in one statement with all reads of that moment, and waits until the projector has
 * announced that index to this process. An answer that is still kept then is as new as PostgreSQL. A read that may lag asks
 * PostgreSQL nothing.
 *
 * Modes of an answer: being made → kept → forgotten. Requests for an answer that is being made wait for it, and take it if it
 * is new enough for them, so each answer is made once at a time.
 *
 * Limits: MAX_ANSWER_BYTES, MAX_ANSWERS; the least recently used answer goes first. The compressed forms (`Packed`) are kept
 * as long as their answers and come on top. An answer that depends on the caller must have a key that names the difference.
 * Cost of a kept answer: one statement of one row, shared by all reads of the same moment; a change costs the answers that
 * watch its rows.
 */
export class KeptAnswers {
  private readonly kept = new Map<string, KeptAnswer>();
  private readonly underWay = new Map<string, Promise<ReadResult>>();
  private readonly points: SharedRun<ReadPoint>;
  private bytes = 0;
  private seenTo = 0;

  constructor(
    private readonly changes: AnswerChanges,
    private readonly maxBytes = MAX_ANSWER_BYTES,
    private readonly maxAnswers = MAX_ANSWERS,
  ) {
    this.points = new SharedRun(changes.readPoint);
  }

  /** @param key another one for everything on which the answer depends @throws any error of the query or PostgreSQL */
  async of(key: string, read: KeptRead, query: () => Promise<ReadResult>): Promise<ReadResult> {
    const earlier = this.underWay.get(key);
    const known = this.kept.get(key);
    if (known && read.mayLag) return this.used(key, known);
    if (!known && !earlier) return this.make(key, read.watched, query);

    const point = await this.currentPoint();
    const isAnnounced = await this.changes.announced(point.applied, ANNOUNCED_WITHIN_MS);
    const keptNow = (): ReadResult | undefined => {
      const current = isAnnounced ? this.kept.get(key) : undefined;
      return current && atIndex(this.used(key, current), tableIndexOf(read.tables, point));
    };
    const current = keptNow();
    if (current) return current;
    const made = await earlier;
    if (made && read.tables.length > 0 && made.index >= tableIndexOf(read.tables, point)) return made;
    // An answer that is under way now was begun after this read came.
    return keptNow() ?? this.underWay.get(key) ?? this.make(key, read.watched, query);
  }

  /** Forgets every kept answer. */
  forgetAll(): void {
    for (const key of this.kept.keys()) this.forget(key);
  }

  private async currentPoint(): Promise<ReadPoint> {
    const point = await this.points.requestRun();
    // PostgreSQL goes back when the log lost its end and an operator adopted it: the kept answers may show lost writes.
    if (point.applied < this.seenTo) this.forgetAll();
    this.seenTo = point.applied;
    return point;
  }

  private make(key: string, watched: Watched, query: () => Promise<ReadResult>): Promise<ReadResult> {
    let kept: KeptAnswer | undefined;
    let hasChanged = false;
    const stopWatching = this.changes.onChangeOf(watched, () => {
      hasChanged = true;
      if (kept && this.kept.get(key) === kept) this.forget(key);
    });
    const making = query()
      .then((result) => {
        if (result.value === undefined) return result;
        const value = result.value instanceof PrintedJson ? result.value : new PrintedJson(compactJson(result.value));
        const made = { ...result, value };
        if (hasChanged || value.text.length > this.maxBytes) return made;
        kept = { ...made, stopWatching };
        this.keep(key, kept);
        return made;
      })
      .finally(() => {
        if (!kept) stopWatching();
        this.underWay.delete(key);
      });
    this.underWay.set(key, making);
    return making;
  }

  private used(key: string, answer: KeptAnswer): KeptAnswer {
    this.kept.delete(key);
    this.kept.set(key, answer);
    return answer;
  }

  private keep(key: string, made: KeptAnswer): void {
    this.forget(key);
    this.kept.set(key, made);
    this.bytes += made.value.text.length;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= this.maxBytes && this.kept.size <= this.maxAnswers) break;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    const forgotten = this.kept.get(key);
    if (!forgotten) return;
    this.kept.delete(key);
    this.bytes -= forgotten.value.text.length;
    forgotten.stopWatching();
  }
}

const tableIndexOf = (tables: readonly TableName[], { tableIndexes }: ReadPoint): number =>
  Math.max(0, ...tables.map((table) => tableIndexes[table] ?? 0));

/** A list whose rows have not changed is as new as its table. */
const atIndex = (answer: ReadResult, tableIndex: number): ReadResult =>
  answer.index >= tableIndex ? answer : { ...answer, index: tableIndex };
