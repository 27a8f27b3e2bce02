import type { SchedulerConfiguration } from '@waybill/model';
import { SINGLETON_KEY, type Applied, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import type { BlockedEvals } from './blocked/blocked-evals.js';
import type { EvalBroker } from './queue/eval-broker.js';
import { freedSince } from './blocked/freed-capacity.js';
import { signalsOf, type Signal } from './blocked/signals.js';
import type { TraceMemory } from './trace-memory.js';

export interface EvaluationFlowDeps {
  readonly tables: Tables;
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly traces: TraceMemory;
  readonly logger: Logger;
  /** Decides while none is stored (EB-127). */
  readonly defaultConfiguration: SchedulerConfiguration;
}

/**
 * Brings every evaluation that the log carries to where it belongs: to the evaluation broker, to the blocked tracker, or
 * out of them (section 3.1).
 *
 * Modes: off → on ⇄ paused → off; both of its ends are enabled exactly while it is on. Each time it comes on they are
 * empty and are filled from the evaluations table, once (EB-124, EB-136); from there on they follow what is applied.
 * Cost: what the transaction touched, and for a class that gained capacity the blocked evaluations; of coming on,
 * O(evaluations that have not ended).
 */
export class EvaluationFlow {
  constructor(private readonly deps: EvaluationFlowDeps) {}

  /** EB-124, EB-128: on or paused as the stored configuration says, by comparing that with what is. */
  followPauseFlag(): void {
    const { tables, evals, logger, defaultConfiguration } = this.deps;
    const enabled = !(tables.scheduler_config.get(SINGLETON_KEY) ?? defaultConfiguration).PauseEvalBroker;
    if (enabled === evals.isEnabled) return;
    this.enable(enabled);
    logger.info(enabled ? 'evaluation broker enabled' : 'evaluation broker paused');
    if (enabled) this.restore();
  }

  /** After every transaction, while not off. */
  applied(applied: Applied): void {
    if (applied.changes.some((change) => change.table === 'scheduler_config')) this.followPauseFlag();
    for (const signal of signalsOf(applied, this.deps.tables)) this.take(signal, applied);
  }

  off(): void {
    this.enable(false);
    this.deps.traces.clear();
  }

  private enable(enabled: boolean): void {
    this.deps.evals.setEnabled(enabled);
    this.deps.blocked.setEnabled(enabled);
  }

  private restore(): void {
    const { tables, evals, blocked } = this.deps;
    evals.restore(tables.evals.by('status', 'pending'));
    const waiting = [...tables.evals.by('status', 'blocked')];
    if (waiting.length === 0) return;
    // Nobody logged what was freed while this was off (EB-159).
    const since = Math.min(...waiting.map(({ SnapshotIndex }) => SnapshotIndex));
    for (const { key, index } of freedSince(tables, since)) blocked.missed(key, index);
    for (const evaluation of waiting) blocked.block(evaluation);
  }

  private take(signal: Signal, { txn, index }: Applied): void {
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
        evals.drop(signal.evalId);
        return;
      case 'unblockClass':
        blocked.unblockClass(signal.computedClass, index);
        return;
      case 'unblockNode':
        blocked.unblockNode(signal.nodeId);
        return;
      case 'unblockResources':
        blocked.unblockResources(signal.names, index);
        return;
    }
  }
}
