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
 * A log and its one copy of the state in one process: what is proposed is applied at once. For tests and simulations of
 * service logic; keeps every transaction in memory.
 */
export class LocalState implements ReplicatedState {
  /** Everything applied, oldest first. */
  readonly history: Applied[] = [];
  /** Set by a test: the next proposals fail with this. */
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

  /** @throws ConflictError as the log would, `failure` if one is set, and a defect of an applier, which a test must see */
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
