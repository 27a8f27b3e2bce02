import { type Applied, eventsOf, StateMachine } from '@waybill/state';
import { LogCheck } from '@waybill/verify';
import type { ArchiveStore } from '../world/archive-store.js';
import { frozen } from '../world/frozen.js';
import type { StoredTxn, TxnStream } from '../world/txn-stream.js';
import type { Report } from './violation.js';

/**
 * The state that the log makes, computed at the moment each transaction is stored, and watched by the same invariants
 * with which `npm run verify` checks a finished cluster. Every replica is compared with it.
 */
export class ReferenceState {
  private current = new StateMachine();
  private invariants = newInvariants();
  /** What each transaction came to; index 1 first. */
  readonly applied: Applied[] = [];
  private readonly listeners = new Set<(applied: Applied) => void>();
  private readonly lossListeners = new Set<(lost: readonly Applied[]) => void>();

  constructor(
    stream: TxnStream,
    private readonly archives: ArchiveStore,
    private readonly report: Report,
  ) {
    stream.onStored((stored) => this.take(stored));
    stream.onLost((lost) => this.goBack(lost.length));
  }

  get machine(): StateMachine {
    return this.current;
  }

  /** Called when the log has lost its end, with what is gone, and the state as it was before it. */
  onLost(listener: (lost: readonly Applied[]) => void): void {
    this.lossListeners.add(listener);
  }

  /** Called after each transaction, with the state right behind it. */
  onApplied(listener: (applied: Applied) => void): void {
    this.listeners.add(listener);
  }

  /** At rest: also what need not hold before the end. */
  finish(): void {
    this.invariants.finish(this.machine.tables);
    this.reportFirst();
  }

  /** Indexes of the event frames that the log causes, in order. */
  frames(): number[] {
    return this.applied.flatMap((applied) => (eventsOf(applied) ? [applied.index] : []));
  }

  /** The log lost its end: the state is what its beginning makes once more. */
  private goBack(count: number): void {
    const lost = this.applied.splice(-count);
    this.current = new StateMachine();
    this.invariants = newInvariants();
    for (const { txn } of this.applied)
      this.invariants.after(this.current.apply(this.archives.completed(txn)), this.current.tables);
    for (const listener of this.lossListeners) listener(lost);
  }

  private take({ txn }: StoredTxn): void {
    const applied = this.machine.apply(this.archives.completed(txn));
    if (applied.defect) this.report('no-defect', `${txn.type} at index ${txn.index}: ${applied.defect.stack ?? ''}`);
    for (const { after } of applied.changes) frozen(after);
    this.applied.push(applied);
    this.invariants.after(applied, this.machine.tables);
    this.reportFirst();
    for (const listener of this.listeners) listener(applied);
  }

  private reportFirst(): void {
    const [first] = this.invariants.found;
    if (first) this.report(first.invariant, `at index ${first.index}, ${first.subject}: ${first.message}`);
  }
}

const newInvariants = (): LogCheck => new LogCheck({ pendingLimitMs: 0 });
