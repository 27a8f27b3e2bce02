import type { Evaluation } from '@waybill/model';
import type { Gauge, Metrics } from '@waybill/telemetry';
import type { Broker } from './broker.js';
import { labelsOf, parentJob, type BrokerTimer, type EvalTimer, type Meter } from './meter.js';

/** Delayed evaluations shown one by one; of more, the first are. */
export const MAX_WAITING_SHOWN = 1_000;

const WAIT_LABELS = ['job', 'namespace', 'eval_type', 'triggered_by'] as const;

/** `nomad.broker.wait_time` as a name that Prometheus takes; dots are no part of it. */
const nameOf = (contractName: string): string => `nomad_${contractName.replaceAll('.', '_')}`;

/** The broker's figures under the contract's names (section 16), in seconds. */
export class ContractMeter implements Meter {
  constructor(private readonly metrics: Metrics) {}

  observe(timer: BrokerTimer, value: number): void {
    const name = nameOf(timer);
    if (timer === 'plan.outstanding_apply') {
      this.metrics
        .histogram(name, 'plans in flight when the next one is taken', [], [0, 1, 2, 4, 8, 16])
        .observe(value);
      return;
    }
    this.metrics.histogram(name, `nomad.${timer}`).observe(value / 1000);
  }

  observeEval(timer: EvalTimer, value: number, evaluation: Evaluation): void {
    const histogram = this.metrics.histogram(nameOf(timer), `nomad.${timer}`, WAIT_LABELS);
    histogram.observe(labelsOf(evaluation), value / 1000);
  }

  nodeRejected(nodeId: string): void {
    this.metrics
      .counter(nameOf('plan.node_rejected'), 'plans rejected on the node', ['node_id'])
      .inc({ node_id: nodeId });
  }
}

/** The gauges of section 16, computed when they are read; of a broker that does not hold the role all are 0 or absent. */
export function exposeGauges(metrics: Metrics, broker: Broker): void {
  const simple = (name: string, collect: () => number): void => {
    metrics.gauge(nameOf(name), `nomad.${name}`, { collect });
  };
  simple('broker.total_ready', () => broker.evals.stats().totalReady);
  simple('broker.total_unacked', () => broker.evals.stats().totalUnacked);
  simple('broker.total_pending', () => broker.evals.stats().totalPending);
  simple('broker.total_waiting', () => broker.evals.stats().totalWaiting);
  simple('broker.total_cancelable', () => broker.evals.stats().totalCancelable);
  simple('blocked_evals.total_blocked', () => broker.blocked.stats().totalBlocked);
  simple('blocked_evals.total_escaped', () => broker.blocked.stats().totalEscaped);
  simple('blocked_evals.total_quota_limit', () => broker.blocked.stats().totalQuotaLimit);
  simple('plan.queue_depth', () => broker.plans.depth);

  const labelled = (name: string, labels: readonly string[], collectInto: (gauge: Gauge) => void): void => {
    metrics.gauge(nameOf(name), `nomad.${name}`, { labels, collectInto });
  };
  // One metric with the type as label: Prometheus has no names made of values.
  labelled('broker.ready', ['type'], (gauge) => {
    for (const [type, { ready }] of Object.entries(broker.evals.stats().byScheduler)) gauge.set({ type }, ready);
  });
  labelled('broker.unacked', ['type'], (gauge) => {
    for (const [type, { unacked }] of Object.entries(broker.evals.stats().byScheduler)) gauge.set({ type }, unacked);
  });
  labelled('broker.eval_waiting', ['eval_id', 'job', 'namespace'], (gauge) => {
    for (const { evaluation, dueInMs } of broker.evals.delayed(MAX_WAITING_SHOWN)) {
      const { ID: eval_id, Namespace: namespace, JobID } = evaluation;
      gauge.set({ eval_id, job: parentJob(JobID), namespace }, dueInMs / 1000);
    }
  });
  labelled('blocked_evals.job.cpu', ['namespace', 'job'], (gauge) => {
    for (const sum of broker.blocked.resources.byJob()) gauge.set(sum.labels, sum.cpuMhz);
  });
  labelled('blocked_evals.job.memory', ['namespace', 'job'], (gauge) => {
    for (const sum of broker.blocked.resources.byJob()) gauge.set(sum.labels, sum.memoryMB);
  });
  const place = ['datacenter', 'node_class', 'node_pool'];
  labelled('blocked_evals.cpu', place, (gauge) => {
    for (const sum of broker.blocked.resources.byPlace()) gauge.set(sum.labels, sum.cpuMhz);
  });
  labelled('blocked_evals.memory', place, (gauge) => {
    for (const sum of broker.blocked.resources.byPlace()) gauge.set(sum.labels, sum.memoryMB);
  });
  labelled('plan.rejection_tracker.node_score', ['node_id'], (gauge) => {
    for (const [node_id, score] of broker.rejectionScores()) gauge.set({ node_id }, score);
  });
}
