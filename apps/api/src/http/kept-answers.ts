import type { ReadPoint } from '@waybill/projection';
import type { TableName } from '@waybill/state';
import type { Watched } from './blocking-query.js';
import { compactJson, PrintedJson } from './printed-json.js';
import type { ReadResult } from './read-result.js';
import { SharedRead } from './shared-read.js';

/** Bytes of answers kept by one process, all together. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Answers kept, however small: whoever puts something new into every request must not fill the memory with empty lists. */
export const MAX_ANSWERS = 5_000;
/** How long a read waits for the announcement of what PostgreSQL has already; then it reads PostgreSQL, milliseconds. */
export const ANNOUNCED_WITHIN_MS = 50;

/** What tells which kept answers still count. */
export interface AnswerChanges {
  /** How far PostgreSQL is, at a moment after the call. */
  readonly readPoint: () => Promise<ReadPoint>;
  /** True once everything up to this index has been announced here; false if that takes longer than `timeoutMs`. */
  readonly announced: (index: number, timeoutMs: number) => Promise<boolean>;
  /** Calls `run` synchronously when something watched has changed, or may have. Returns the way to stop. */
  readonly onChangeOf: (watched: Watched, run: () => void) => () => void;
}

/** What an answer depends on. */
export interface KeptRead {
  /** What a change of may change the answer. */
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
 * Answers of reads that are asked for again: dashboards, scripts and monitors ask for the same all day. An answer counts
 * until a change of what it was made from is announced. So that nobody misses a write that was acknowledged by another API
 * process (API-56), each read asks PostgreSQL how far it is, together with all who ask at that moment, and waits until that
 * has been announced here; an answer that is still kept then is as new as PostgreSQL. Reads that may lag ask nothing.
 *
 * While an answer is being made, others who ask for it wait for that one, and take it if it is new enough for them: however
 * many look at a busy cluster, each answer is made once at a time.
 *
 * Limits: MAX_ANSWER_BYTES, MAX_ANSWERS; what was not asked for longest goes first. The compressed forms, which are kept as
 * long as the answers (`Packed`), come on top. Not for answers that depend on who asks, unless the key says who.
 * Cost of a kept answer: one statement of one row, shared by all who read at the same time.
 */
export class KeptAnswers {
  private readonly kept = new Map<string, KeptAnswer>();
  private readonly underWay = new Map<string, Promise<ReadResult>>();
  private readonly points: SharedRead<ReadPoint>;
  private bytes = 0;
  private seenTo = 0;

  constructor(
    private readonly changes: AnswerChanges,
    private readonly maxBytes = MAX_ANSWER_BYTES,
    private readonly maxAnswers = MAX_ANSWERS,
  ) {
    this.points = new SharedRead(changes.readPoint);
  }

  /** @param key names everything that the answer depends on @throws what the query and PostgreSQL throw */
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

  /** Nothing that was answered before counts any more. */
  forgetAll(): void {
    for (const key of this.kept.keys()) this.forget(key);
  }

  private async currentPoint(): Promise<ReadPoint> {
    const point = await this.points.fresh();
    // PostgreSQL goes back when the log lost its end and an operator adopted it: what was read then is not history.
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
