import type { TableName } from '@waybill/state';
import type { ReadResult } from './read-result.js';
import { compactJson, PrintedJson } from './printed-json.js';

/** Bytes of answers kept by one process, all together. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Answers kept, however small: whoever puts something new into every request must not fill the memory with empty lists. */
export const MAX_ANSWERS = 1_000;

interface KeptAnswer {
  readonly index: number;
  readonly nextToken: string | undefined;
  readonly value: PrintedJson;
}

/**
 * Answers of lists that are asked for again: dashboards ask for the same list all day. As long as the table has the index
 * that an answer was given with, it is the answer; one look at that index says so, whichever process wrote last. While an
 * answer is being made, others who ask for it wait for that one, and take it if it is as new as what they could have seen
 * when they came (API-56): however many look at a busy cluster, each list is made once at a time.
 * Limits: MAX_ANSWER_BYTES, MAX_ANSWERS; what was not asked for longest goes first. Their compressed forms, kept as long as they are
 * (`Packed`), come on top. Not for lists whose rows depend on who asks.
 */
export class ListAnswers {
  private readonly kept = new Map<string, KeptAnswer>();
  private readonly underWay = new Map<string, Promise<KeptAnswer>>();
  private bytes = 0;

  /** @param tableIndex index of the last change of a table */
  constructor(
    private readonly tableIndex: (table: TableName) => Promise<number>,
    private readonly maxBytes = MAX_ANSWER_BYTES,
    private readonly maxAnswers = MAX_ANSWERS,
  ) {}

  /**
   * @param key names everything that the answer depends on
   * @param table the one whose index the answer carries
   */
  async of(key: string, table: TableName, query: () => Promise<ReadResult>): Promise<ReadResult> {
    const earlier = this.underWay.get(key);
    if (!earlier && !this.kept.has(key)) return this.make(key, query);
    const seen = await this.tableIndex(table);
    const known = this.kept.get(key);
    if (known?.index === seen) {
      this.keep(key, known); // asked for last
      return known;
    }
    const answer = await earlier;
    if (answer && answer.index >= seen) return answer;
    return this.underWay.get(key) ?? this.make(key, query); // whichever it is, it began after this one came
  }

  private make(key: string, query: () => Promise<ReadResult>): Promise<KeptAnswer> {
    const making = query()
      .then(({ index, nextToken, value }) => {
        const printed = value instanceof PrintedJson ? value : new PrintedJson(compactJson(value));
        const made = { index, nextToken, value: printed };
        this.keep(key, made);
        return made;
      })
      .finally(() => this.underWay.delete(key));
    this.underWay.set(key, making);
    return making;
  }

  private keep(key: string, made: KeptAnswer): void {
    this.forget(key);
    if (made.value.text.length > this.maxBytes) return;
    this.kept.set(key, made);
    this.bytes += made.value.text.length;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= this.maxBytes && this.kept.size <= this.maxAnswers) break;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    this.bytes -= this.kept.get(key)?.value.text.length ?? 0;
    this.kept.delete(key);
  }
}
