import type { Evaluation } from '@waybill/model';
import type { Gauge, Histogram, Metrics } from '@waybill/telemetry';
import type { Broker } from './broker.js';
import { type Labels, labelsOf, parentJob, type BrokerTimer, type EvalTimer, type Meter } from './meter.js';

/** Delayed evaluations that have a gauge of their own; further ones have none. */
export const MAX_WAITING_SHOWN = 1_000;

/**
 * Jobs that the timers show under their own name; later ones are counted as OTHER_JOBS. Rendering a line takes
 * microseconds, and a scrape that blocked the process for seconds would cost the holder its lease.
 */
export const MAX_JOBS_SHOWN = 100;
export const OTHER_JOBS = '(other)';
/** Buckets in seconds; few, because each is a line for every job, type and trigger. */
const WAIT_BUCKETS_S = [0.005, 0.05, 0.5, 5, 60];
/** Jobs with blocked evaluations that have gauges of their own. */
export const MAX_BLOCKED_JOBS_SHOWN = 1_000;

const WAIT_LABELS = ['job', 'namespace', 'eval_type', 'triggered_by'] as const;

/** Prometheus' form of a contract name: `nomad.broker.wait_time` is `nomad_broker_wait_time`. */
const nameOf = (contractName: string): string => `nomad_${contractName.replaceAll('.', '_')}`;

/** The broker's timers under the contract's names (section 16), in seconds. */
export class ContractMeter implements Meter {
  private readonly jobsShown = new Set<string>();
  /** Created at their first observation, so that only timers with samples are shown. */
  private readonly histograms = new Map<BrokerTimer | EvalTimer, Histogram>();

  constructor(private readonly metrics: Metrics) {}

  observe(timer: BrokerTimer, value: number): void {
    const histogram = this.histograms.get(timer) ?? this.register(timer, this.histogramOf(timer));
    histogram.observe(timer === 'plan.outstanding_apply' ? value : value / 1000);
  }

  observeEval(timer: EvalTimer, value: number, evaluation: Evaluation): void {
    const histogram =
      this.histograms.get(timer) ??
      this.register(timer, this.metrics.histogram(nameOf(timer), `nomad.${timer}`, WAIT_LABELS, WAIT_BUCKETS_S));
    histogram.observe(this.bounded(labelsOf(evaluation)), value / 1000);
  }

  private histogramOf(timer: BrokerTimer): Histogram {
    if (timer !== 'plan.outstanding_apply') return this.metrics.histogram(nameOf(timer), `nomad.${timer}`);
    return this.metrics.histogram(nameOf(timer), 'plans in flight when the next one is taken', [], [0, 1, 2, 4, 8, 16]);
  }

  private register(timer: BrokerTimer | EvalTimer, histogram: Histogram): Histogram {
    this.histograms.set(timer, histogram);
    return histogram;
  }

  /** The first MAX_JOBS_SHOWN jobs keep their name; a scrape must not grow with the number of jobs. */
  private bounded(labels: Labels): Labels {
    const job = `${labels['namespace']}/${labels['job']}`;
    if (this.jobsShown.has(job)) return labels;
    if (this.jobsShown.size === MAX_JOBS_SHOWN) return { ...labels, job: OTHER_JOBS };
    this.jobsShown.add(job);
    return labels;
  }

  nodeRejected(nodeId: string): void {
    this.metrics
      .counter(nameOf('plan.node_rejected'), 'plans rejected on the node', ['node_id'])
      .inc({ node_id: nodeId });
  }
}

/** Exposes the gauges of section 16, computed at each scrape. Of a broker without the role all are 0 or absent. */
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
  metrics.gauge('broker_paused', 'whether the holder of the role is paused: 0 or 1', {
    collect: () => (broker.isPaused ? 1 : 0),
  });

  const labelled = (name: string, labels: readonly string[], collectInto: (gauge: Gauge) => void): void => {
    metrics.gauge(nameOf(name), `nomad.${name}`, { labels, collectInto });
  };
  // The contract puts the type into the metric's name; with Prometheus it is a label.
  labelled('broker.ready', ['type'], (gauge) => {
    for (const [type, { ready }] of Object.entries(broker.evals.stats().byScheduler)) gauge.set({ type }, ready);
  });
  labelled('broker.unacked', ['type'], (gauge) => {
    for (const [type, { unacked }] of Object.entries(broker.evals.stats().byScheduler)) gauge.set({ type }, unacked);
  });
  labelled('broker.eval_waiting', ['eval_id', 'job', 'namespace'], (gauge) => {
    for (const { evaluation, dueInMs } of broker.evals.delayed.delayed(MAX_WAITING_SHOWN)) {
      const { ID: eval_id, Namespace: namespace, JobID } = evaluation;
      gauge.set({ eval_id, job: parentJob(JobID), namespace }, dueInMs / 1000);
    }
  });
  labelled('blocked_evals.job.cpu', ['namespace', 'job'], (gauge) => {
    for (const sum of first(MAX_BLOCKED_JOBS_SHOWN, broker.blocked.resources.byJob()))
      gauge.set(sum.labels, sum.cpuMhz);
  });
  labelled('blocked_evals.job.memory', ['namespace', 'job'], (gauge) => {
    for (const sum of first(MAX_BLOCKED_JOBS_SHOWN, broker.blocked.resources.byJob()))
      gauge.set(sum.labels, sum.memoryMB);
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

function* first<T>(limit: number, items: Iterable<T>): Generator<T> {
  let taken = 0;
  for (const item of items) {
    if (taken++ === limit) return;
    yield item;
  }
}
