import { hostname } from 'node:os';
import type { ReadModel } from '@waybill/projection';
import { gatherFigures, type ServiceContext } from '@waybill/service';
import { shownOf } from './cluster-figures.js';
import { PREFIX } from './contract-names.js';
import { JobGauges } from './job-gauges.js';
import { ProcessGauges } from './process-gauges.store.js';
import type { Series, Shown } from './series.js';

const MS_PER_S = 1_000;

/**
 * The metrics of the whole control plane, asked for when somebody looks: of its services over NATS, of jobs from the read
 * model, of this process itself. Any API process answers for all of them: where several run, one is scraped (OP-106).
 * Keeps nothing. Without NATS or Postgres, what they would have said is missing.
 */
export class ClusterMetrics {
  private readonly jobs: JobGauges;
  private readonly startedMs: number;
  private readonly process = new ProcessGauges();

  constructor(
    private readonly context: ServiceContext,
    private readonly model: ReadModel,
  ) {
    this.jobs = new JobGauges(model);
    this.startedMs = context.clock.nowMs();
    this.process.start();
  }

  get clock(): ServiceContext['clock'] {
    return this.context.clock;
  }

  /** OP-100. */
  get forPrometheus(): boolean {
    return this.context.settings.WAYBILL_PROMETHEUS_METRICS;
  }

  upForS(): number {
    return (this.clock.nowMs() - this.startedMs) / MS_PER_S;
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
