import { hostname } from 'node:os';
import { managerOf, type NatsLink, TXN_STREAM } from '@waybill/journal';
import type { ReadModel } from '@waybill/projection';
import { gatherFigures, type ServiceContext } from '@waybill/service';
import type { Labels } from '@waybill/telemetry';
import { shownOf } from './cluster-figures.js';
import { PREFIX } from './contract-names.js';
import { JobGauges } from './job-gauges.js';
import { type Lately, MetricInterval } from './metric-interval.js';
import { ProcessGauges } from './process-gauges.store.js';
import type { Series, Shown } from './series.js';

/**
 * The metrics of the whole control plane, asked for when somebody looks: of its services over NATS, of jobs from the read
 * model, of this process itself. Where several API processes are scraped, one of them answers for the cluster and the
 * others for themselves only, so that a sum over all counts everything once (OP-106).
 * Keeps two looks, for what was counted between them. Without NATS or Postgres, what they would have said is missing.
 */
export class ClusterMetrics {
  private readonly jobs: JobGauges;
  private readonly interval: MetricInterval;
  private readonly process = new ProcessGauges();

  constructor(
    private readonly context: ServiceContext,
    private readonly model: ReadModel,
    private readonly members: { isFirst(): Promise<boolean> },
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
    if (!(await this.members.isFirst())) return { gauges: this.process.read(host), counters: [], samples: [] };
    const [services, jobs, indexes] = await Promise.all([
      gatherFigures(this.context.link.nc).catch(() => []),
      this.jobs.read(host).catch(() => []),
      this.indexes(host).catch(() => []),
    ]);
    const { gauges, counters, samples } = shownOf(services);
    return { gauges: [...gauges, ...jobs, ...indexes, ...this.process.read(host)], counters, samples };
  }

  /** The snapshot is the read model, which is as far as anybody can see what was applied. */
  private async indexes(host: string): Promise<Series[]> {
    const applied = await this.model.appliedIndex();
    const last = await logEnd(this.context.link).catch(() => applied);
    const gauge = (name: string, value: number, labels: Labels = {}): Series => ({
      name: `${PREFIX}${name}`,
      labels: { ...labels, host },
      value,
    });
    return [
      gauge('raft.lastIndex', Math.max(last, applied)),
      gauge('raft.appliedIndex', applied),
      gauge('state.snapshotIndex', applied),
      gauge('waybill.log.lag', Math.max(0, last - applied), { projection: 'postgres' }),
    ];
  }
}

/** The last index that was given out. */
async function logEnd(link: NatsLink): Promise<number> {
  const { state } = await (await managerOf(link)).streams.info(TXN_STREAM);
  return state.last_seq;
}
