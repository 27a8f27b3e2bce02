import type { SimulatedPostgres } from '../world/simulated-postgres.js';
import type { StoredTxn, TxnStream } from '../world/txn-stream.js';
import { LOG_OPERATOR } from '../world/log-operator.js';
import type { Report } from './violation.js';

/**
 * The log lost its end (ST-1): where Postgres knows the lost transactions, no process writes to the log until an operator
 * has decided, because the next transaction would get an index that names another transaction in Postgres.
 */
export class LostEnds {
  /** True time at which each index was lost last, unix milliseconds. */
  private readonly lostAtMs = new Map<number, number>();
  /** True time since which Postgres has transactions that the log has lost; undefined: none, or an operator has decided. */
  private aheadSinceMs: number | undefined;

  constructor(
    stream: TxnStream,
    private readonly postgres: SimulatedPostgres,
    private readonly nowMs: () => number,
    private readonly report: Report,
  ) {
    stream.onLost((lost) => this.lost(lost));
    stream.onStored((stored) => this.stored(stored));
  }

  /** Whether an acknowledged write may be lost: the user asked before the power cut, and the answer was on its way. */
  isGone(index: number, askedMs: number): boolean {
    return (this.lostAtMs.get(index) ?? 0) >= askedMs;
  }

  /** Whether an operator has to decide. */
  get isUndecided(): boolean {
    return this.aheadSinceMs !== undefined;
  }

  private lost(lost: readonly StoredTxn[]): void {
    const nowMs = this.nowMs();
    for (const { index } of lost) this.lostAtMs.set(index, nowMs);
    if (this.postgres.appliedIndex >= (lost[0]?.index ?? Infinity)) this.aheadSinceMs ??= nowMs;
  }

  private stored({ txn }: StoredTxn): void {
    if (this.aheadSinceMs === undefined) return;
    if (txn.actor.Name === LOG_OPERATOR) {
      if (txn.type === 'StateRestore') this.aheadSinceMs = undefined;
      return;
    }
    // A process that could not ask Postgres goes by what it has read itself.
    if (this.postgres.lastFailedMs >= this.aheadSinceMs) return;
    this.report(
      'writes-to-the-known-log',
      `${txn.type} at index ${txn.index} is written where Postgres knows another transaction`,
    );
  }
}
