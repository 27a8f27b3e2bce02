import { ConflictError, subjectOf } from '@waybill/journal';
import {
  type Applied,
  type Proposed,
  type ProposeOptions,
  StateMachine,
  type Tables,
  type Txn,
  type TxnDraft,
} from '@waybill/state';
import { ReplicaBehindError, type ReplicatedState } from './replicated-state.js';

/**
 * A log and its only copy of the state in one process: a proposal is applied at once. For tests and simulations of
 * service logic; it keeps every transaction in memory.
 */
export class LocalState implements ReplicatedState {
  /** Every applied transaction, oldest first. */
  readonly history: Applied[] = [];
  /** A test sets it to make the next proposals fail with this error. */
  failure: Error | undefined;
  private readonly listeners = new Set<(applied: Applied) => void>();
  private readonly lastOfSubject = new Map<string, number>();

  constructor(readonly machine: StateMachine = new StateMachine()) {}

  get tables(): Tables {
    return this.machine.tables;
  }

  get appliedIndex(): number {
    return this.machine.appliedIndex;
  }

  /**
   * @throws ConflictError as the log does, `failure` if it is set, and the defect of an applier, which a test must see
   */
  async propose(draft: TxnDraft, options: ProposeOptions = {}): Promise<Proposed> {
    if (this.failure) throw this.failure;
    const subject = subjectOf(draft);
    const actual = this.lastOfSubject.get(subject) ?? 0;
    const expected = options.expectedLastSubjectSequence;
    if (expected !== undefined && expected !== actual) throw new ConflictError(subject, expected, actual);
    const index = this.appliedIndex + 1;
    this.lastOfSubject.set(subject, index);
    const applied = this.machine.apply({ ...draft, index } as Txn);
    if (applied.defect) throw applied.defect;
    this.history.push(applied);
    for (const listener of this.listeners) listener(applied);
    return { index, verdict: applied.verdict };
  }

  async waitFor(index: number): Promise<void> {
    if (index > this.appliedIndex) throw new ReplicaBehindError(index, this.appliedIndex);
  }

  onApplied(listener: (applied: Applied) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
