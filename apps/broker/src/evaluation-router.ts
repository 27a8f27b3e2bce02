import type { SchedulerConfiguration } from '@waybill/model';
import { SINGLETON_KEY, type Applied, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import type { BlockedEvals } from './blocked/blocked-evals.js';
import type { EvalBroker } from './queue/eval-broker.js';
import { freedSince } from './blocked/missed-unblocks.js';
import { signalsOf, type Signal } from './evaluation-signals.js';
import type { EvaluationTraces } from './evaluation-traces.js';

export interface EvaluationRouterDeps {
  readonly tables: Tables;
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly traces: EvaluationTraces;
  readonly logger: Logger;
  /** Applies while no configuration is stored (EB-127). */
  readonly defaultConfiguration: SchedulerConfiguration;
}

/**
 * Routes every evaluation that the log carries: to the evaluation queue, to the blocked tracker, or out of them
 * (section 3.1).
 *
 * Modes: disabled → enabled ⇄ paused → disabled. Queue and tracker are enabled exactly while the router is. When it is
 * enabled they are empty and are filled from the evaluations table once (EB-124, EB-136); from there on they follow the log.
 * Cost of a transaction: the rows that it changed, and for a class that gained capacity the blocked evaluations; of
 * enabling: O(evaluations that have not ended).
 */
export class EvaluationRouter {
  constructor(private readonly deps: EvaluationRouterDeps) {}

  /** Enables or pauses as the stored configuration says; no-op if that is the mode already (EB-124, EB-128). */
  applyPauseFlag(): void {
    const { tables, evals, logger, defaultConfiguration } = this.deps;
    const enabled = !(tables.scheduler_config.get(SINGLETON_KEY) ?? defaultConfiguration).PauseEvalBroker;
    if (enabled === evals.isEnabled) return;
    this.setEnabled(enabled);
    logger.info(enabled ? 'evaluation broker enabled' : 'evaluation broker paused');
    if (enabled) this.restore();
  }

  /** Follows the log: called after every transaction while not disabled. */
  applied(applied: Applied): void {
    if (applied.changes.some((change) => change.table === 'scheduler_config')) this.applyPauseFlag();
    for (const signal of signalsOf(applied, this.deps.tables)) this.carryOut(signal, applied);
  }

  disable(): void {
    this.setEnabled(false);
    this.deps.traces.clear();
  }

  private setEnabled(enabled: boolean): void {
    this.deps.evals.setEnabled(enabled);
    this.deps.blocked.setEnabled(enabled);
  }

  private restore(): void {
    const { tables, evals, blocked } = this.deps;
    evals.restore(tables.evals.by('status', 'pending'));
    const waiting = [...tables.evals.by('status', 'blocked')];
    if (waiting.length === 0) return;
    // The unblock log has no entries for capacity that was freed before the tracker was enabled (EB-159).
    const since = waiting.reduce((oldest, { SnapshotIndex }) => Math.min(oldest, SnapshotIndex), Infinity);
    for (const { key, index } of freedSince(tables, since)) blocked.logFreedBefore(key, index);
    for (const evaluation of waiting) blocked.block(evaluation);
  }

  private carryOut(signal: Signal, { txn, index }: Applied): void {
    const { evals, blocked, traces } = this.deps;
    switch (signal.kind) {
      case 'enqueue':
        traces.remember(signal.evaluation.ID, txn.traceparent);
        evals.enqueue(signal.evaluation);
        return;
      case 'block':
        blocked.block(signal.evaluation);
        return;
      case 'untrack':
        blocked.untrack(signal.namespace, signal.jobId);
        return;
      case 'drop':
        evals.dropDelayed(signal.evalId);
        return;
      case 'unblockClass':
        blocked.unblockClass(signal.computedClass, index);
        return;
      case 'unblockNode':
        blocked.unblockNode(signal.nodeId);
        return;
      case 'unblockResources':
        blocked.unblockResources(signal.names, index);
    }
  }
}
