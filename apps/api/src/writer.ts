import { type Log, LogDivergedError, LogUnavailableError } from '@waybill/journal';
import { OtherTransactionError } from '@waybill/projection';
import type { Proposed, Proposer, ProposeOptions, TxnDraft, Verdict } from '@waybill/state';
import { SpanKind, traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';
import { unavailable } from './http/api-error.js';

/** ProjectedVerdicts tells the API that the read model has a transaction, and how the transaction ended. */
export interface ProjectedVerdicts {
  /**
   * @throws if the index is not projected in time; OtherTransactionError if it is projected and belongs to another
   * request
   */
  waitFor(index: number, timeoutMs: number, requestId?: string): Promise<Verdict>;
}

/**
 * The longest time in milliseconds for an answer when the log cannot be written (API-39: within 1 s, then the client's
 * own time).
 */
const PUBLISH_DEADLINE_MS = 1_000;

/**
 * The longest time in milliseconds that a write waits until it can be read. If it takes longer, the projector or
 * Postgres is down or far behind.
 */
export const READABLE_TIMEOUT_MS = 10_000;

/**
 * Writer writes to the log for a user. It publishes a transaction and waits until the read model has it, so that every
 * read after the answer sees it, on any replica (ST-10). The projector gives the verdict. The class has no state.
 */
export class Writer implements Proposer {
  constructor(
    private readonly log: Pick<Log, 'publish'>,
    private readonly projected: ProjectedVerdicts,
    private readonly tracer: () => Tracer,
  ) {}

  /**
   * @throws Refusal unavailable if the log cannot be reached or the read model does not follow; ConflictError,
   * TooLargeError
   */
  async propose(draft: TxnDraft, options: ProposeOptions = {}): Promise<Proposed> {
    const index = await withSpan(this.tracer(), `publish ${draft.type}`, { kind: SpanKind.PRODUCER }, (span) =>
      this.publish({ ...draft, traceparent: traceparentOf(span) ?? draft.traceparent }, options),
    );
    return { index, verdict: await this.readable(index, draft.requestId) };
  }

  /** Waits until a transaction can be read. @param requestId the request ID of a transaction that was written here */
  async readable(index: number, requestId?: string): Promise<Verdict> {
    try {
      return await this.projected.waitFor(index, READABLE_TIMEOUT_MS, requestId);
    } catch (error) {
      if (error instanceof OtherTransactionError)
        throw unavailable(
          `the log has lost its end, and index ${index}, as which this was written, is another transaction now; look before you ask again`,
        );
      throw unavailable(
        `written as index ${index}, but the read model has not reached it: the database or the projector is not available; nothing is lost, ask again later`,
      );
    }
  }

  private async publish(draft: TxnDraft, options: ProposeOptions): Promise<number> {
    try {
      return (await this.log.publish(draft, { ...options, deadlineMs: PUBLISH_DEADLINE_MS })).index;
    } catch (error) {
      if (error instanceof LogUnavailableError) throw unavailable(whyUnavailable(error));
      throw error;
    }
  }
}

const whyUnavailable = ({ mayBeWritten, cause }: LogUnavailableError): string =>
  cause instanceof LogDivergedError
    ? cause.message
    : mayBeWritten
      ? 'the log (NATS JetStream) has not answered; this may have been written, look before you ask again'
      : 'the log (NATS JetStream) cannot be reached; nothing was written';
