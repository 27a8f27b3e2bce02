import { LogRewoundError, type RawCursor } from '@waybill/journal';
import { pause, type Timers } from '@waybill/model';
import type { HashedBlock } from '@waybill/projection';
import { BLOCK_TXNS, type BlockFinding, BlockReading, blockStart } from './block-reading.js';
import type { Pace } from './pace.js';
import type { ScrubbedLog } from './scrubbed-log.js';

/**
 * The time in milliseconds after which a block that looks damaged is read again before it counts as damaged. It is
 * longer than it takes to notice that the log is another one.
 */
export const CONFIRM_MS = 10_000;

export interface ScrubPassOptions {
  readonly log: ScrubbedLog;
  /** The server whose copy is read. It is empty if there is only one server. */
  readonly copy: string;
  readonly pace: Pace;
  /** Says whether the log is the one that this process knows. Another log is not damage. */
  readonly isSameLog: () => Promise<boolean>;
  readonly timers: Timers;
  /** The signal is aborted when the term is over. */
  readonly signal: AbortSignal;
}

/** BlockPart is consecutive indexes of one block. */
export interface BlockPart {
  readonly first: number;
  readonly last: number;
}

/** Returns the indexes of a block from `first` on, up to the end of the block or `end`. */
export const blockFrom = (first: number, end: number): BlockPart => ({
  first,
  last: Math.min(blockStart(first) + BLOCK_TXNS - 1, end),
});

/**
 * ScrubPass reads blocks of the log one after the other, at a pace. It reads a block that looks damaged a second time.
 * The caller must close it.
 */
export class ScrubPass {
  private cursor: RawCursor | undefined;
  /** The next index of the cursor. */
  private cursorAt = 0;

  constructor(private readonly options: ScrubPassOptions) {}

  /** The server whose copy was read last. It is empty if there is only one server. */
  server = '';

  /**
   * Checks a part of a block. The result is undefined if the term is over or the block was trimmed.
   * @throws LogUnavailableError, LogRewoundError
   */
  async check(part: BlockPart, known: HashedBlock | undefined): Promise<BlockFinding | undefined> {
    const found = await this.readBlock(part, known);
    return found && isDamaged(found.block) ? this.confirm(part, known) : found;
  }

  async close(): Promise<void> {
    const { cursor } = this;
    this.cursor = undefined;
    await cursor?.close();
  }

  /**
   * Reads a part again, to tell damage from other causes: messages may have been lost on their way, or the log was
   * trimmed or exchanged.
   */
  private async confirm(part: BlockPart, known: HashedBlock | undefined): Promise<BlockFinding | undefined> {
    const { log, timers, signal, isSameLog } = this.options;
    await this.close();
    await pause(timers, CONFIRM_MS, signal);
    if (signal.aborted) return undefined;
    const { first, last } = await log.bounds();
    if (last < part.last || !(await isSameLog())) throw new LogRewoundError(part.last, last);
    if (first > part.last) return undefined;
    return this.readBlock({ first: Math.max(first, part.first), last: part.last }, known);
  }

  private async readBlock(part: BlockPart, known: HashedBlock | undefined): Promise<BlockFinding | undefined> {
    const { timers, pace, signal } = this.options;
    const reading = new BlockReading(part.first, part.last, known);
    while (reading.left > 0 && !signal.aborted) {
      const bytesBefore = reading.bytes;
      const cursor = await this.cursorFrom(part.last - reading.left + 1);
      const messages = await cursor.next(reading.left);
      for (const message of messages) reading.takeMessage(message);
      const newest = messages.at(-1);
      if (!newest) break;
      this.cursorAt = newest.index + 1;
      await pause(timers, pace.pauseAfter(reading.bytes - bytesBefore), signal);
    }
    return signal.aborted ? undefined : reading.finish();
  }

  /**
   * Returns the cursor at an index. It opens a new one if the last one stands elsewhere: after a gap the last one has
   * gone into a later block.
   */
  private async cursorFrom(index: number): Promise<RawCursor> {
    if (this.cursor && this.cursorAt === index) return this.cursor;
    await this.close();
    this.cursor = await this.options.log.open(index, this.options.copy);
    this.cursorAt = index;
    this.server = this.cursor.server;
    return this.cursor;
  }
}

export const isDamaged = ({ unreadable, isChanged }: HashedBlock): boolean => unreadable > 0 || isChanged;
