import { StateMachine, type Applied, type Tables, type Txn } from '@waybill/state';
import { DeploymentCounters } from './deployment-counters.js';
import { EvalStatuses, EvaluationsEnd, OneBlocked, openEvaluations, type OpenEvaluation } from './evaluations.js';
import { isRestore, type Invariant, type Violation } from './invariant.js';
import { LogTime } from './log-time.js';
import { JobStatuses, JobSummaries } from './job-bookkeeping.js';
import { EpochOrder, ExplainedVerdicts, IndexOrder } from './log-order.js';
import { NodeCapacity } from './node-capacity.js';
import { OneOutstanding } from './one-outstanding.js';
import { AcceptedPlans, NoDoublePlacement } from './plans.js';
import { RowOrder } from './row-order.js';

/** An evaluation that is due has ended after this long: three deliveries that all time out, and the waits in between. */
export const PENDING_LIMIT_MS = 5 * 60_000;
/** Violations kept in a report; the rest are counted. */
export const MAX_VIOLATIONS = 200;

export interface LogCheckOptions {
  /** Longest time an evaluation may be pending after it was due, at the end of the log. 0: the run is over. */
  readonly pendingLimitMs?: number;
}

/** Rejected transactions of one kind. */
export interface Rejection {
  readonly verdict: 'refused' | 'void';
  readonly type: string;
  readonly error: string;
  count: number;
  readonly firstIndex: number;
}

export interface LogReport {
  readonly ok: boolean;
  readonly transactions: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** Unix ns of the first and the last transaction. */
  readonly fromNs: number;
  readonly untilNs: number;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly rejections: readonly Rejection[];
  readonly plans: number;
  readonly placements: number;
  readonly epochs: Readonly<Record<string, number>>;
  /** How many evaluations ended how. */
  readonly evaluations: Readonly<Record<string, number>>;
  readonly open: readonly OpenEvaluation[];
  readonly violationCount: number;
  readonly violations: readonly Violation[];
}

/**
 * Watches a log from the outside: is given every transaction as it was applied, in order, and says at the end which
 * invariants of section 17 of the evaluations reference did not hold. Pure; knows nothing of brokers and workers.
 * Memory: beside the state, one record per job and evaluation. Cost: see the invariants.
 */
export class LogCheck {
  private readonly invariants: readonly Invariant[];
  private readonly violations: Violation[] = [];
  private violationCount = 0;
  private transactions = 0;
  private firstIndex = 0;
  private lastIndex = 0;
  private fromNs = 0;
  private readonly time = new LogTime();
  private plans = 0;
  private placements = 0;
  private readonly verdicts: Record<string, number> = { accepted: 0, noop: 0, refused: 0, void: 0 };
  private readonly rejections = new Map<string, Rejection>();
  private readonly ends: Record<string, number> = { complete: 0, failed: 0, canceled: 0 };
  private readonly epochs: Record<string, number> = {};

  constructor(options: LogCheckOptions = {}) {
    this.invariants = [
      new IndexOrder(),
      new EpochOrder(),
      new ExplainedVerdicts(),
      new RowOrder(),
      new EvalStatuses(),
      new EvaluationsEnd(options.pendingLimitMs ?? PENDING_LIMIT_MS),
      new NodeCapacity(),
      new AcceptedPlans(),
      new NoDoublePlacement(),
      new OneOutstanding(),
      new OneBlocked(),
      new DeploymentCounters(),
      new JobSummaries(),
      new JobStatuses(),
    ];
  }

  /** The next transaction, with the tables right after it. */
  after(applied: Applied, tables: Tables): void {
    this.note(applied);
    for (const invariant of this.invariants) invariant.after(applied, tables, this.report);
  }

  /** Nothing comes after this. */
  finish(tables: Tables): LogReport {
    const end = { index: this.lastIndex, timeNs: this.time.nowNs };
    for (const invariant of this.invariants) invariant.atEnd?.(end, tables, this.report);
    return {
      ok: this.violationCount === 0,
      transactions: this.transactions,
      firstIndex: this.firstIndex,
      lastIndex: this.lastIndex,
      fromNs: this.fromNs,
      untilNs: end.timeNs,
      verdicts: this.verdicts,
      rejections: [...this.rejections.values()],
      plans: this.plans,
      placements: this.placements,
      epochs: this.epochs,
      evaluations: this.ends,
      open: openEvaluations(tables, end),
      violationCount: this.violationCount,
      violations: this.violations,
    };
  }

  /** What was found so far, at most MAX_VIOLATIONS. */
  get found(): readonly Violation[] {
    return this.violations;
  }

  /** Takes in what only the reader of the log can see: that it cannot go on. */
  readonly report = (violation: Violation): void => {
    this.violationCount++;
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(violation);
  };

  private note(applied: Applied): void {
    const { txn, index, verdict, changes } = applied;
    this.transactions++;
    this.firstIndex ||= index;
    this.fromNs ||= txn.timeNs;
    this.lastIndex = Math.max(this.lastIndex, index);
    this.time.note(applied);
    this.verdicts[verdict.kind] = (this.verdicts[verdict.kind] ?? 0) + 1;
    if (verdict.kind === 'refused' || verdict.kind === 'void') {
      const key = JSON.stringify([verdict.kind, txn.type, verdict.error]);
      const known = this.rejections.get(key);
      if (known) known.count++;
      else
        this.rejections.set(key, {
          verdict: verdict.kind,
          type: txn.type,
          error: verdict.error,
          count: 1,
          firstIndex: index,
        });
    }
    if (verdict.kind !== 'accepted' || isRestore(applied)) return;
    if (txn.type === 'LeaseAcquired') this.epochs[txn.payload.Role] = txn.payload.Epoch;
    if (txn.type === 'ApplyPlanResults') this.plans++;
    for (const change of changes) {
      if (change.table === 'allocs' && !change.before) this.placements++;
      if (change.table !== 'evals' || !change.after) continue;
      const { Status } = change.after;
      if (Status !== change.before?.Status && Status in this.ends) this.ends[Status] = (this.ends[Status] ?? 0) + 1;
    }
  }
}

/** Applies a log to an empty state and checks it. An index that does not follow ends it: nothing after it can be judged. */
export class LogReader {
  readonly check: LogCheck;
  readonly machine = new StateMachine();
  private broken = false;

  constructor(options: LogCheckOptions = {}) {
    this.check = new LogCheck(options);
  }

  checkTransaction(txn: Txn): void {
    if (this.broken) return;
    const expected = this.machine.appliedIndex + 1;
    if (txn.index === expected) {
      this.check.after(this.machine.apply(txn), this.machine.tables);
      return;
    }
    this.broken = true;
    this.check.report({
      invariant: 'index-order',
      index: txn.index,
      subject: `index ${txn.index}`,
      message: `follows index ${expected - 1}; the next one is ${expected}`,
    });
  }

  finish(): LogReport {
    return this.check.finish(this.machine.tables);
  }
}

export function checkLog(txns: Iterable<Txn>, options: LogCheckOptions = {}): LogReport {
  const reader = new LogReader(options);
  for (const txn of txns) reader.checkTransaction(txn);
  return reader.finish();
}
