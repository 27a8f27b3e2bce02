import { createHash } from 'node:crypto';
import type { RawMessage } from '@waybill/journal';
import type { HashedBlock } from '@waybill/projection';

/**
 * The number of transactions in a block, which has one hash. Blocks begin behind multiples of it, wherever the log
 * begins.
 */
export const BLOCK_TXNS = 1_024;

/** Returns the first index of the block that contains an index. */
export const blockStart = (index: number): number => index - ((index - 1) % BLOCK_TXNS);

/**
 * The headers from which a transaction is read. Other headers are NATS' own, or conditions under which it was stored.
 */
const READ_HEADERS = /^(Nats-Msg-Id|Waybill-[A-Za-z]+|traceparent):/;

/** IndexRange is a range of indexes. Both ends are included. */
export interface IndexRange {
  readonly first: number;
  readonly last: number;
}

/** BlockFinding is the result of reading a block. */
export interface BlockFinding {
  /** The missing indexes, in order. */
  readonly missing: readonly IndexRange[];
  /** The values of the block to store. */
  readonly block: HashedBlock;
}

/**
 * BlockReading reads one block of the log, message by message, and compares it with its first reading (pure).
 *
 * A block that grows is hashed up to its new end and compared up to its earlier end. A block whose beginning was
 * trimmed has no hash any more; it is only checked for missing messages. A block with missing messages has no hash
 * either: the known hash is kept, and counts again when the transactions can be read again.
 */
export class BlockReading {
  private readonly hash = createHash('sha256');
  private readonly missing: IndexRange[] = [];
  /** The digest up to the last index that the known digest covers. */
  private digestAtKnown: string | undefined;
  private next: number;
  /** The bytes of the messages taken so far. */
  bytes = 0;

  /**
   * @param first the first index of the block that the log has
   * @param last the last index to read
   * @param known the stored values of the block
   */
  constructor(
    private readonly first: number,
    private readonly last: number,
    private readonly known: HashedBlock | undefined,
  ) {
    this.next = first;
  }

  /** The number of indexes that are still to come. */
  get left(): number {
    return this.last - this.next + 1;
  }

  /** Takes the next message. A message of a later block shows that all messages of this block have passed. */
  takeMessage({ index, headers, body }: RawMessage): void {
    this.passOver(Math.min(index, this.last + 1));
    if (index > this.last || index < this.next) return;
    this.next = index + 1;
    this.bytes += headers.length + body.length;
    const read = headers.split('\r\n').filter((line) => READ_HEADERS.test(line));
    // The lengths mark where each part ends, so that moving bytes from one part to the next changes the hash too.
    this.hash.update(`${index} ${read.length} ${body.length}\n${read.join('\n')}\n`);
    this.hash.update(body);
    if (index === this.known?.last) this.digestAtKnown = this.hash.copy().digest('hex');
  }

  /** Ends the reading when the log has no further message. */
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
