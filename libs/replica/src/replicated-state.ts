import type { Applied, Proposer, Tables } from '@waybill/state';

/**
 * A copy of the state that follows the log: the dependency of service logic, in production (replica.ts) and in the
 * simulator. Reads are synchronous look-ups in `tables`, and between two awaits they see one snapshot.
 */
export interface ReplicatedState extends Proposer {
  readonly tables: Tables;
  readonly appliedIndex: number;
  /**
   * Resolves when the copy has applied `index` (ST-142). @throws ReplicaBehindError after `timeoutMs`, with the index
   */
  waitFor(index: number, timeoutMs: number): Promise<void>;
  /** Calls `listener` after every transaction applied from now on, in order, synchronously. @returns unsubscribe */
  onApplied(listener: (applied: Applied) => void): () => void;
}

export class ReplicaBehindError extends Error {
  override readonly name = 'ReplicaBehindError';
  constructor(
    readonly waitedFor: number,
    readonly appliedIndex: number,
  ) {
    super(`index ${waitedFor} not applied in time; this copy is at ${appliedIndex}`);
  }
}
