import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { LogRewoundError, LogTrimmedError } from './errors.js';

/** What a server says of the stream, of which there is more. */
export interface LogInfo {
  readonly state: { readonly first_seq: number; readonly last_seq: number };
  readonly config: { readonly num_replicas: number };
}

/** How long one of several copies may tell of a shorter log than was read before it is believed, milliseconds. */
export const SHORTER_MS = 5_000;
/** Pause before the log is looked at again, milliseconds. */
const LOOK_AGAIN_MS = 200;

/**
 * Looks where the log begins and ends, and whether it is still the log that was read (ST-1).
 *
 * A single server knows its stream. Of several, one that has just begun to lead answers before it has applied all that was
 * committed, and one that does not know of its successor yet answers for a while: of them a log that is shorter than what
 * was read, or is not there, is believed only after SHORTER_MS.
 */
export class SameLog {
  /** As far as it was told; 0: not yet. */
  private copies = 0;

  /** @param ask whoever answers for the stream */
  constructor(private readonly ask: () => Promise<LogInfo>) {}

  /**
   * @param next index that is to be read next; those below were read
   * @param isOver nobody waits for the answer any more
   * @throws LogTrimmedError, LogRewoundError, or whatever the server's refusal is
   */
  async stateFor(next: number, isOver: () => boolean): Promise<LogInfo['state']> {
    for (const until = performance.now() + SHORTER_MS; ;) {
      try {
        return await this.look(next);
      } catch (error) {
        const isBelieved = this.copies === 1 || performance.now() >= until || isOver();
        if (isBelieved || !(error instanceof LogRewoundError)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }

  private async look(next: number): Promise<LogInfo['state']> {
    const { state, config } = await this.ask().catch((error: unknown) => {
      // Deleted under a reader that has read from it: whatever is created in its place is another log.
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound && next > 1)
        throw new LogRewoundError(next - 1, 0);
      throw error;
    });
    this.copies = config.num_replicas;
    if (next > state.last_seq + 1) throw new LogRewoundError(next - 1, state.last_seq);
    if (next < state.first_seq) throw new LogTrimmedError(next, state.first_seq);
    return state;
  }
}
