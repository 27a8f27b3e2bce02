import type { Applied, Proposer, Tables } from '@waybill/state';

/**
 * A copy of the state that follows the log. What service logic depends on, in production (replica.ts) and in the
 * simulator. Reads are plain synchronous look-ups in `tables`: the single thread is the snapshot.
 */
export interface ReplicatedState extends Proposer {
  readonly tables: Tables;
  readonly appliedIndex: number;
  /**
   * Resolves when the copy has applied `index` (ST-142).
   * @throws ReplicaBehindError after `timeoutMs`, naming the index waited for
   */
  waitFor(index: number, timeoutMs: number): Promise<void>;
  /** Called after every transaction applied from now on, in order, synchronously. Returns the way to stop. */
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
