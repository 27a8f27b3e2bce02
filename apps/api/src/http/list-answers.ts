import type { TableName } from '@waybill/state';
import type { ReadResult } from './reads.js';
import { compactJson, PrintedJson } from './printed-json.js';

/** Bytes of answers kept by one process, all together. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

interface KeptAnswer {
  readonly index: number;
  readonly nextToken: string | undefined;
  readonly value: PrintedJson;
}

/**
 * Answers of lists that are asked for again: dashboards ask for the same list all day. As long as the table has the index
 * that an answer was given with, it is the answer; one look at that index says so, whichever process wrote last.
 * Limits: MAX_ANSWER_BYTES; what was not asked for longest goes first. Not for lists whose rows depend on who asks.
 */
export class ListAnswers {
  private readonly kept = new Map<string, KeptAnswer>();
  private bytes = 0;

  /** @param tableIndex index of the last change of a table */
  constructor(
    private readonly tableIndex: (table: TableName) => Promise<number>,
    private readonly maxBytes = MAX_ANSWER_BYTES,
  ) {}

  /**
   * @param key names everything that the answer depends on
   * @param table the one whose index the answer carries
   */
  async of(key: string, table: TableName, query: () => Promise<ReadResult>): Promise<ReadResult> {
    const known = this.kept.get(key);
    if (known && known.index === Math.max(1, await this.tableIndex(table))) {
      this.keep(key, known); // asked for last
      return known;
    }
    const { index, nextToken, value } = await query();
    const made = {
      index,
      nextToken,
      value: value instanceof PrintedJson ? value : new PrintedJson(compactJson(value)),
    };
    this.keep(key, made);
    return made;
  }

  private keep(key: string, made: KeptAnswer): void {
    this.forget(key);
    if (made.value.text.length > this.maxBytes) return;
    this.kept.set(key, made);
    this.bytes += made.value.text.length;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    this.bytes -= this.kept.get(key)?.value.text.length ?? 0;
    this.kept.delete(key);
  }
}
