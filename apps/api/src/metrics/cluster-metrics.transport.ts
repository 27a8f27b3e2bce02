import { hostname } from 'node:os';
import type { ReadModel } from '@waybill/projection';
import { gatherFigures, type ServiceContext } from '@waybill/service';
import { shownOf } from './cluster-figures.js';
import { PREFIX } from './contract-names.js';
import { JobGauges } from './job-gauges.js';
import { type Lately, MetricInterval } from './metric-interval.js';
import { ProcessGauges } from './process-gauges.store.js';
import type { Series, Shown } from './series.js';

/**
 * The metrics of the whole control plane, asked for when somebody looks: of its services over NATS, of jobs from the read
 * model, of this process itself. Any API process answers for all of them: where several run, one is scraped (OP-106).
 * Keeps two looks, for what was counted between them. Without NATS or Postgres, what they would have said is missing.
 */
export class ClusterMetrics {
  private readonly jobs: JobGauges;
  private readonly interval: MetricInterval;
  private readonly process = new ProcessGauges();

  constructor(
    private readonly context: ServiceContext,
    private readonly model: ReadModel,
  ) {
    this.jobs = new JobGauges(model);
    this.interval = new MetricInterval(context.clock);
    this.process.start();
  }

  get clock(): ServiceContext['clock'] {
    return this.context.clock;
  }

  /** OP-100. */
  get forPrometheus(): boolean {
    return this.context.settings.WAYBILL_PROMETHEUS_METRICS;
  }

  /** OP-101. */
  async lately(): Promise<Lately> {
    return this.interval.lately(await this.read());
  }

  async read(): Promise<Shown> {
    const host = hostname();
    const [services, jobs, indexes] = await Promise.all([
      gatherFigures(this.context.link.nc).catch(() => []),
      this.jobs.read(host).catch(() => []),
      this.indexes(host).catch(() => []),
    ]);
    const { gauges, counters, samples } = shownOf(services);
    return { gauges: [...gauges, ...jobs, ...indexes, ...this.process.read(host)], counters, samples };
  }

  /** The log's end is what everybody applies; the snapshot is the read model. */
  private async indexes(host: string): Promise<Series[]> {
    const applied = await this.model.appliedIndex();
    const gauge = (name: string, value: number): Series => ({ name: `${PREFIX}${name}`, labels: { host }, value });
    return [
      gauge('raft.lastIndex', applied),
      gauge('raft.appliedIndex', applied),
      gauge('state.snapshotIndex', applied),
    ];
  }
}
