import { createHash } from 'node:crypto';
import type { RawMessage } from '@waybill/journal';
import type { HashedBlock } from '@waybill/projection';

/** Transactions that have one hash. Blocks begin behind multiples of it, wherever the log begins. */
export const BLOCK_TXNS = 1_024;

/** The first index of the block that an index is in. */
export const blockStart = (index: number): number => index - ((index - 1) % BLOCK_TXNS);

/** What a transaction is read from. Others are NATS' own, or conditions under which it was stored. */
const READ_HEADERS = /^(Nats-Msg-Id|Waybill-[A-Za-z]+|traceparent):/;

/** Indexes from one to another, both included. */
export interface IndexRange {
  readonly first: number;
  readonly last: number;
}

/** What the reading of a block came to. */
export interface BlockFinding {
  /** Indexes that are not there, in order. */
  readonly missing: readonly IndexRange[];
  /** What to keep of it. */
  readonly block: HashedBlock;
}

/**
 * Reads one block of the log, message by message, and compares it with what it was at first (pure).
 *
 * A block that grows is hashed as far as it goes, and compared as far as it went before. A block whose beginning was
 * trimmed has no hash any more, and is only looked through for what is missing. What is missing has no hash either: the one
 * that is known is kept, and counts again when the transactions can be read again.
 */
export class BlockReading {
  private readonly hash = createHash('sha256');
  private readonly missing: IndexRange[] = [];
  /** Digest up to the last index that the known one covers. */
  private digestAtKnown: string | undefined;
  private next: number;
  /** Of the messages taken. */
  bytes = 0;

  /**
   * @param first the first index that the log has of the block
   * @param last the last index that is read
   * @param known what is known of the block
   */
  constructor(
    private readonly first: number,
    private readonly last: number,
    private readonly known: HashedBlock | undefined,
  ) {
    this.next = first;
  }

  /** Indexes that are still to come. */
  get left(): number {
    return this.last - this.next + 1;
  }

  /** Takes the next message; those of a later block say that all of this one has passed. */
  takeMessage({ index, headers, body }: RawMessage): void {
    this.passOver(Math.min(index, this.last + 1));
    if (index > this.last || index < this.next) return;
    this.next = index + 1;
    this.bytes += headers.length + body.length;
    const read = headers.split('\r\n').filter((line) => READ_HEADERS.test(line));
    // The lengths tell where one part ends: what moves from one to the next is a change too.
    this.hash.update(`${index} ${read.length} ${body.length}\n${read.join('\n')}\n`);
    this.hash.update(body);
    if (index === this.known?.last) this.digestAtKnown = this.hash.copy().digest('hex');
  }

  /** There is nothing more in the log. */
  finish(): BlockFinding {
    this.passOver(this.last + 1);
    const { missing, known } = this;
    const start = blockStart(this.first);
    const unreadable = missing.reduce((sum, { first, last }) => sum + last - first + 1, 0);
    const isWhole = this.first === start && unreadable === 0;
    const isKnown = known !== undefined && known.digest !== '' && known.last <= this.last;
    if (!isWhole) {
      const kept = isKnown ? { last: known.last, digest: known.digest } : { last: this.last, digest: '' };
      return { missing, block: { first: start, ...kept, unreadable, isChanged: false } };
    }
    const isChanged = isKnown && this.digestAtKnown !== known.digest;
    const kept = isChanged
      ? { last: known.last, digest: known.digest }
      : { last: this.last, digest: this.hash.digest('hex') };
    return { missing, block: { first: start, ...kept, unreadable, isChanged } };
  }

  private passOver(to: number): void {
    if (to > this.next) this.missing.push({ first: this.next, last: to - 1 });
    this.next = Math.max(this.next, to);
  }
}
