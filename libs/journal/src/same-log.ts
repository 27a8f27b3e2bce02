import { JetStreamApiCodes, JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { isSameMark, type LogMark } from '@waybill/state';
import { LogDivergedError, LogReplacedError, LogRewoundError, LogTrimmedError } from './errors.js';
import { TXN_STREAM } from './subject.js';
import { readMark } from './txn-codec.js';

/** What a server says of the stream, of which there is more. */
export interface LogInfo {
  readonly state: { readonly first_seq: number; readonly last_seq: number };
  readonly config: { readonly num_replicas: number };
}

/** How long one of several copies may tell of another log than was read before it is believed, milliseconds. */
export const SHORTER_MS = 5_000;
/** Pause before the log is looked at again, milliseconds. */
const LOOK_AGAIN_MS = 200;

/** Whoever answers for the stream. */
export interface LogView {
  info(): Promise<LogInfo>;
  /** Which transaction the log has at an index it holds; undefined if it does not say. */
  markAt(index: number): Promise<LogMark | undefined>;
}

/** The stream's leader. */
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
 * Looks where the log begins and ends, and whether it is still the log that was read (ST-1): whether it has the transaction
 * that was read last. How long it is says nothing, for a log that lost its end gives the same indexes out again.
 *
 * A single server knows its stream. Of several, one that has just begun to lead answers before it has applied all that was
 * committed, and one that does not know of its successor yet answers for a while: of them a log that is another one, or is
 * not there, is believed only after SHORTER_MS.
 * Cost: two requests.
 */
export class SameLog {
  /** As far as it was told; 0: not yet. */
  private copies = 0;

  constructor(private readonly log: LogView) {}

  /**
   * @param next index that is to be read next; those below were read
   * @param isOver nobody waits for the answer any more
   * @param last what was read at `next - 1`, if that is known
   * @throws LogTrimmedError, LogRewoundError, LogReplacedError, or whatever the server's refusal is
   */
  async stateFor(next: number, isOver: () => boolean, last?: LogMark): Promise<LogInfo['state']> {
    for (const until = performance.now() + SHORTER_MS; ;) {
      try {
        return await this.look(next, last);
      } catch (error) {
        const isBelieved = this.copies === 1 || performance.now() >= until || isOver();
        if (isBelieved || !(error instanceof LogDivergedError)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }

  private async look(next: number, last: LogMark | undefined): Promise<LogInfo['state']> {
    const { state, config } = await this.log.info().catch((error: unknown) => {
      // Deleted under a reader that has read from it: whatever is created in its place is another log.
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound && next > 1)
        throw new LogRewoundError(next - 1, 0);
      throw error;
    });
    this.copies = config.num_replicas;
    if (next > state.last_seq + 1) throw new LogRewoundError(next - 1, state.last_seq);
    if (next < state.first_seq) throw new LogTrimmedError(next, state.first_seq);
    // What was trimmed cannot be compared. The retention leaves what Postgres has applied last.
    if (last?.index === next - 1 && last.index >= state.first_seq) await this.compare(last);
    return state;
  }

  private async compare(last: LogMark): Promise<void> {
    const found = await this.log.markAt(last.index);
    if (found && !isSameMark(found, last)) throw new LogReplacedError(last.index, last.requestId, found.requestId);
  }
}
