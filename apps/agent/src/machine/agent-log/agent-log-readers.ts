import type { Timers } from '@waybill/model';
import { type ReadAgentLogRequest, type ReadAgentLogResponse, RpcError } from '@waybill/rpc';
import type { LogFeed } from '@waybill/telemetry';

/** Lines kept for a reader between two of its calls. */
export const MAX_KEPT_LINES = 512;
/** Who read last so long ago has left, ms. */
export const READER_GONE_MS = 10_000;
/** A call without lines is answered after this, ms. */
export const QUIET_MS = 1_000;
export const MAX_READERS = 16;

/** What one reader has not fetched yet. */
interface Reader {
  lines: string[];
  dropped: number;
  /** Answers the call that waits, if one does. */
  wake: () => void;
  /** Ends the subscription; the reader is forgotten. */
  leave: () => void;
  stopWaiting: () => void;
}

/**
 * Those who watch the log of this process from elsewhere (OP-82). A reader: begun by its first call → reading → gone,
 * READER_GONE_MS after its last. Holds MAX_KEPT_LINES for each of at most MAX_READERS; what is more is counted.
 */
export class AgentLogReaders {
  private readonly readers = new Map<string, Reader>();

  constructor(
    private readonly feed: Pick<LogFeed, 'subscribe'>,
    private readonly timers: Timers,
  ) {}

  /** @throws RpcError when there are too many readers */
  async readLog({ ReaderID, Rank }: ReadAgentLogRequest): Promise<ReadAgentLogResponse> {
    const reader = this.readers.get(ReaderID) ?? this.begin(ReaderID, Rank);
    reader.stopWaiting();
    if (reader.lines.length === 0) await this.untilLine(reader);
    const answer = { Lines: reader.lines, Dropped: reader.dropped };
    reader.lines = [];
    reader.dropped = 0;
    reader.stopWaiting();
    reader.stopWaiting = this.timers.after(READER_GONE_MS, reader.leave);
    return answer;
  }

  private begin(id: string, rank: number): Reader {
    if (this.readers.size >= MAX_READERS)
      throw new RpcError('invalid', `${MAX_READERS} watch the log of this machine already`);
    const end = this.feed.subscribe(rank, (line) => {
      if (reader.lines.length === MAX_KEPT_LINES) reader.dropped++;
      else reader.lines.push(line);
      reader.wake();
    });
    const leave = (): void => {
      end();
      this.readers.delete(id);
    };
    const reader: Reader = { lines: [], dropped: 0, wake: () => {}, leave, stopWaiting: () => {} };
    this.readers.set(id, reader);
    return reader;
  }

  private untilLine(reader: Reader): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.timers.after(QUIET_MS, resolve);
      reader.wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
