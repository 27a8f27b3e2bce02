import { type Evaluation, NotHolderError } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { joinedStepTimes } from '@waybill/state';

/** Evaluations in one transaction: far below the size limit of a message, and quickly applied by every copy of the state. */
export const MAX_BATCHED_UPDATES = 128;

interface Update {
  readonly evaluation: Evaluation;
  readonly steps: string;
  readonly written: (index: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Equal for all updates of a batch. */
interface SharedByBatch {
  readonly namespace: string;
  readonly traceparent: string | undefined;
}

/**
 * Writes updates of evaluations in batches, one batch at a time for each namespace and trace. Updates that come while a
 * batch is being written make the next batch. So a single update is written at once, and a burst, which has one cause and
 * one trace, needs a few transactions instead of one for each update.
 *
 * Modes, for each namespace and trace: idle (nothing is kept) ⇄ writing one transaction.
 * Limit: MAX_BATCHED_UPDATES. When a batch fails, each of its updates is written again alone, so that no update fails
 * because of another one; writing the end of an evaluation twice changes nothing (EB-336).
 */
export class BatchedEvalUpdates {
  private readonly waiting = new Map<string, Update[]>();

  constructor(private readonly writer: Pick<HolderWriter, 'write'>) {}

  /**
   * @param steps steps of its delivery, which the transaction carries
   * @returns index of the transaction, which other updates may share
   * @throws as HolderWriter.write
   */
  write(evaluation: Evaluation, traceparent: string | undefined, steps = ''): Promise<number> {
    return new Promise((written, failed) => {
      const update = { evaluation, steps, written, failed };
      const key = `${evaluation.Namespace} ${traceparent ?? ''}`;
      const waiting = this.waiting.get(key);
      if (waiting) waiting.push(update);
      else void this.writeBatches(key, [update], { namespace: evaluation.Namespace, traceparent });
    });
  }

  private async writeBatches(key: string, waiting: Update[], shared: SharedByBatch): Promise<void> {
    this.waiting.set(key, waiting);
    await Promise.resolve(); // requests that arrived together with the first one join its batch
    while (waiting.length > 0) await this.writeBatch(waiting.splice(0, MAX_BATCHED_UPDATES), shared);
    this.waiting.delete(key);
  }

  private async writeBatch(updates: readonly Update[], shared: SharedByBatch): Promise<void> {
    const { namespace, traceparent } = shared;
    const Evals = updates.map(({ evaluation }) => evaluation);
    try {
      const by = { traceparent, stepTimes: joinedStepTimes(updates.map(({ steps }) => steps)) };
      const index = await this.writer.write('EvalUpdate', { Evals }, namespace, by);
      for (const { written } of updates) written(index);
    } catch (error) {
      const hasTermEnded = error instanceof NotHolderError;
      if (updates.length === 1 || hasTermEnded) for (const { failed } of updates) failed(error);
      else await Promise.all(updates.map((update) => this.writeBatch([update], shared)));
    }
  }
}
