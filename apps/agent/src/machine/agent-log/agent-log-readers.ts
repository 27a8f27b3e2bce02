import type { Timers } from '@waybill/model';
import { type ReadAgentLogRequest, type ReadAgentLogResponse, RpcError } from '@waybill/rpc';
import type { LogFeed } from '@waybill/telemetry';

/** The largest number of lines that are kept for a reader between two of its calls. */
export const MAX_KEPT_LINES = 512;
/** A reader whose last call is this old, in milliseconds, is gone. */
export const READER_GONE_MS = 10_000;
/** A call without lines is answered after this time in milliseconds. */
export const QUIET_MS = 1_000;
export const MAX_READERS = 16;

/** Reader holds the lines that one reader has not fetched yet. */
interface Reader {
  lines: string[];
  dropped: number;
  /** Answers the call that waits, if there is one. */
  wake: () => void;
  /** Ends the subscription and removes the reader. */
  leave: () => void;
  stopWaiting: () => void;
}

/**
 * AgentLogReaders serves readers elsewhere that follow the log of this process (OP-82). The first call of a reader
 * begins it. It is gone READER_GONE_MS after its last call. Memory: MAX_KEPT_LINES for each of at most MAX_READERS;
 * further lines are dropped and counted.
 */
export class AgentLogReaders {
  private readonly readers = new Map<string, Reader>();

  constructor(
    private readonly feed: Pick<LogFeed, 'subscribe'>,
    private readonly timers: Timers,
  ) {}

  /**
   * Returns the lines since the reader's last call. Without lines it waits up to QUIET_MS.
   * @throws RpcError if there are too many readers
   */
  async readLog({ ReaderID, Rank }: ReadAgentLogRequest): Promise<ReadAgentLogResponse> {
    const reader = this.readers.get(ReaderID) ?? this.openReader(ReaderID, Rank);
    reader.stopWaiting();
    if (reader.lines.length === 0) await this.untilLine(reader);
    const answer = { Lines: reader.lines, Dropped: reader.dropped };
    reader.lines = [];
    reader.dropped = 0;
    reader.stopWaiting();
    reader.stopWaiting = this.timers.after(READER_GONE_MS, reader.leave);
    return answer;
  }

  private openReader(id: string, rank: number): Reader {
    if (this.readers.size >= MAX_READERS)
      throw new RpcError('invalid', `${MAX_READERS} watch the log of this machine already`);
    const end = this.feed.subscribe(rank, (line) => {
      if (reader.lines.length === MAX_KEPT_LINES) reader.dropped++;
      else reader.lines.push(line);
      reader.wake();
    });
    const closeReader = (): void => {
      end();
      this.readers.delete(id);
    };
    const reader: Reader = { lines: [], dropped: 0, wake: () => {}, leave: closeReader, stopWaiting: () => {} };
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
