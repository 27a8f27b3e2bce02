import { JetStreamApiCodes, JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { backgroundTimers, type Clock, pause, type Timers } from '@waybill/model';
import { isSameMark, type LogMark } from '@waybill/state';
import { LogDivergedError, LogReplacedError, LogRewoundError, LogTrimmedError } from './errors.js';
import { TXN_STREAM } from './subject.js';
import { readMark } from './txn-codec.js';

/** The parts of the server's description of the stream that are used here. */
export interface LogInfo {
  readonly state: { readonly first_seq: number; readonly last_seq: number };
  readonly config: { readonly num_replicas: number };
}

/** How long one of several copies must describe another log than the known one before it is believed, milliseconds. */
export const SHORTER_MS = 5_000;
/** Pause before the log is checked again, milliseconds. */
const LOOK_AGAIN_MS = 200;

/** Time that passes: real, or simulated. */
export interface PassingTime {
  readonly timers: Timers;
  readonly monotonic: Clock;
}

export const REAL_TIME: PassingTime = { timers: backgroundTimers, monotonic: { nowMs: () => performance.now() } };

/** The server that describes the stream. */
export interface LogView {
  info(): Promise<LogInfo>;
  /** Identifies the transaction at an index that the log holds; undefined if the answer does not. */
  markAt(index: number): Promise<LogMark | undefined>;
}

/** A view of the stream by its leader. */
export function logView(getManager: () => Promise<JetStreamManager>): LogView {
  return {
    info: async () => (await getManager()).streams.info(TXN_STREAM),
    markAt: async (index) => {
      const message = await (await getManager()).streams.getMessage(TXN_STREAM, { seq: index });
      return message ? readMark(index, (name) => message.header.get(name)) : undefined;
    },
  };
}

/**
 * Reads where the log begins and ends, and checks whether it is still the log that was read (ST-1): whether it has the
 * transaction that was read last. Its length proves nothing, as a log that lost its end assigns the same indexes again.
 *
 * A single server knows its stream. Of several servers, one that has just become leader answers before it has applied
 * all committed messages, and one that does not know of its successor yet still answers: so another log, or a missing
 * one, is believed only after SHORTER_MS. Cost: two requests.
 */
export class SameLog {
  /** Number of copies of the stream; 0: not known yet. */
  private copies = 0;

  constructor(
    private readonly log: LogView,
    private readonly time: PassingTime = REAL_TIME,
  ) {}

  /**
   * @param next the index to read next; lower ones were read
   * @param isOver whether no caller waits for the answer any more
   * @param last the transaction that was read at `next - 1`, if it is known
   * @throws LogTrimmedError, LogRewoundError, LogReplacedError, or the server's refusal
   */
  async stateFor(next: number, isOver: () => boolean, last?: LogMark): Promise<LogInfo['state']> {
    const { timers, monotonic } = this.time;
    for (const until = monotonic.nowMs() + SHORTER_MS; ;) {
      try {
        return await this.checkOnce(next, last);
      } catch (error) {
        const isBelieved = this.copies === 1 || monotonic.nowMs() >= until || isOver();
        if (isBelieved || !(error instanceof LogDivergedError)) throw error;
      }
      await pause(timers, LOOK_AGAIN_MS);
    }
  }

  private async checkOnce(next: number, last: LogMark | undefined): Promise<LogInfo['state']> {
    const { state, config } = await this.log.info().catch((error: unknown) => {
      // The stream was deleted under a reader that has read from it: a stream created in its place is another log.
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound && next > 1)
        throw new LogRewoundError(next - 1, 0);
      throw error;
    });
    this.copies = config.num_replicas;
    if (next > state.last_seq + 1) throw new LogRewoundError(next - 1, state.last_seq);
    if (next < state.first_seq) throw new LogTrimmedError(next, state.first_seq);
    // Trimmed transactions cannot be compared. The retention keeps the transaction that Postgres has applied last.
    if (last?.index === next - 1 && last.index >= state.first_seq) await this.compare(last);
    return state;
  }

  private async compare(last: LogMark): Promise<void> {
    const found = await this.log.markAt(last.index);
    if (found && !isSameMark(found, last)) throw new LogReplacedError(last.index, last.requestId, found.requestId);
  }
}
