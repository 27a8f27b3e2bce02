import type { Applied, Tables } from '@waybill/state';

/** What the checker watches. The names stand in reports; docs/verify.md says what each means. */
export const INVARIANTS = [
  'index-order',
  'epoch-order',
  'explained-verdict',
  'row-order',
  'eval-status',
  'eval-end',
  'node-capacity',
  'accepted-plan',
  'no-double-placement',
  'one-outstanding',
  'one-blocked',
  'deployment-counters',
  'job-summary',
  'job-status',
] as const;
export type InvariantName = (typeof INVARIANTS)[number];

export interface Violation {
  readonly invariant: InvariantName;
  /** Index of the transaction after which it does not hold. */
  readonly index: number;
  /** What it is about: a node, a job, an evaluation. */
  readonly subject: string;
  readonly message: string;
}

export type ReportViolation = (violation: Violation) => void;

/** What is known when the log has been read to its end. */
export interface EndOfLog {
  readonly index: number;
  /** By the writers of its last transactions, unix ns; see `LogTime`. */
  readonly timeNs: number;
}

/**
 * One thing that must hold at every index. It sees each transaction after it was applied, with the tables as they are
 * then, and remembers what it needs of the past. Cost: what the transaction touched, unless it says otherwise.
 */
export interface Invariant {
  after(applied: Applied, tables: Tables, report: ReportViolation): void;
  /** Once, after the last transaction; may look at all rows. */
  atEnd?(end: EndOfLog, tables: Tables, report: ReportViolation): void;
}

/** It takes rows back to what they were: what its changes say of them is not what became of them (OP-46). */
export const isRestore = ({ txn }: Applied): boolean => txn.type === 'StateRestore';
