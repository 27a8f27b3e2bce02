import { type Evaluation, NotHolderError } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { joinedStepTimes } from '@waybill/state';

/** Evaluations in one transaction. It stays far below what a message may be, and no copy of the state stops over it. */
export const MAX_JOINT_UPDATES = 128;

interface Update {
  readonly evaluation: Evaluation;
  readonly steps: string;
  readonly written: (index: number) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Writes what became of evaluations, those of one namespace and one trace together: what comes while a transaction of
 * theirs is on its way makes the next one. So each is written at once where little happens, and a burst, which has one
 * cause and one trace, is a few transactions instead of one for each.
 *
 * Modes, for each namespace and trace: resting (nothing is kept of it) ⇄ writing, one transaction at a time.
 * Limit: MAX_JOINT_UPDATES. What fails for several is written again for each alone, so that none fails for another's
 * sake; to write the end of an evaluation twice changes nothing (EB-336).
 */
export class JointUpdates {
  private readonly waiting = new Map<string, Update[]>();

  constructor(private readonly writer: Pick<HolderWriter, 'write'>) {}

  /**
   * @param steps what is to be told of its delivery
   * @returns index of the transaction, which may be that of others too
   * @throws as HolderWriter.write
   */
  write(evaluation: Evaluation, traceparent: string | undefined, steps = ''): Promise<number> {
    return new Promise((written, failed) => {
      const update = { evaluation, steps, written, failed };
      const key = `${evaluation.Namespace} ${traceparent ?? ''}`;
      const waiting = this.waiting.get(key);
      if (waiting) waiting.push(update);
      else void this.writeAll(key, [update], traceparent);
    });
  }

  private async writeAll(key: string, waiting: Update[], traceparent: string | undefined): Promise<void> {
    this.waiting.set(key, waiting);
    await Promise.resolve(); // what was read with the first goes with it
    while (waiting.length > 0) await this.writeTogether(waiting.splice(0, MAX_JOINT_UPDATES), traceparent);
    this.waiting.delete(key);
  }

  private async writeTogether(updates: readonly Update[], traceparent: string | undefined): Promise<void> {
    const [first] = updates;
    if (!first) return;
    const Evals = updates.map(({ evaluation }) => evaluation);
    try {
      const by = { traceparent, stepTimes: joinedStepTimes(updates.map(({ steps }) => steps)) };
      const index = await this.writer.write('EvalUpdate', { Evals }, first.evaluation.Namespace, by);
      for (const { written } of updates) written(index);
    } catch (error) {
      const isOver = error instanceof NotHolderError;
      if (updates.length === 1 || isOver) for (const { failed } of updates) failed(error);
      else await Promise.all(updates.map((update) => this.writeTogether([update], traceparent)));
    }
  }
}
