import { managerOf, type NatsLink, TXN_STREAM } from '@waybill/journal';
import type { ReadModel } from '@waybill/projection';
import { readMachineMetrics } from '@waybill/rpc';
import { gatherFigures, hostLabels, type ServiceContext } from '@waybill/service';
import { type Labels, METRICS_PREFIX, type Series, type Shown } from '@waybill/telemetry';
import { shownOf } from './cluster-figures.js';
import type { AutopilotHealth } from '../cluster/autopilot-health.js';
import { JobGauges } from './job-gauges.js';
import { ProcessGauges } from './process-gauges.store.js';

const NOTHING: Shown = { gauges: [], counters: [], samples: [] };

export interface ClusterMetricsDeps {
  readonly context: ServiceContext;
  readonly model: ReadModel;
  readonly members: { isFirst(): Promise<boolean> };
  readonly servers: Pick<AutopilotHealth, 'readHealth'>;
  readonly agent: { nodeId(): Promise<string | undefined> };
}

/**
 * ClusterMetrics reads the metrics of the whole control plane on request: those of its services over NATS, those of
 * jobs from the read model, and those of this process. If several API processes are scraped, one of them answers for
 * the cluster and the others only for themselves, so that a sum over all counts everything once (OP-106). It also asks
 * an agent beside this process, for users to whom both are one agent.
 * Without NATS or Postgres their metrics are missing.
 */
export class ClusterMetrics {
  private readonly jobs: JobGauges;
  private readonly process = new ProcessGauges();
  private readonly host: Labels;

  constructor(private readonly deps: ClusterMetricsDeps) {
    const { settings } = deps.context;
    this.host = hostLabels(settings);
    this.jobs = new JobGauges(deps.model, this.host, !settings.WAYBILL_METRICS_DISABLE_DISPATCHED_JOB_SUMMARY);
    this.process.start();
  }

  async readMetrics(): Promise<Shown> {
    const [servers, machine] = await Promise.all([this.ofServers(), this.machine().catch(() => NOTHING)]);
    return {
      gauges: [...servers.gauges, ...machine.gauges],
      counters: [...servers.counters, ...machine.counters],
      samples: [...servers.samples, ...machine.samples],
    };
  }

  /** Returns the metrics without those of the machine beside this process, which reports its own. */
  async ofServers(): Promise<Shown> {
    const cluster = await this.clusterSeries();
    return { ...cluster, gauges: [...cluster.gauges, ...this.process.readGauges(this.host)] };
  }

  private async clusterSeries(): Promise<Shown> {
    if (!(await this.deps.members.isFirst())) return NOTHING;
    const [services, jobs, indexes, servers] = await Promise.all([
      gatherFigures(this.deps.context.link.nc).catch(() => []),
      this.jobs.readGauges().catch(() => []),
      this.indexSeries().catch(() => []),
      this.health().catch(() => []),
    ]);
    const { settings } = this.deps.context;
    const shown = shownOf(services.map((one) => ({ ...one, host: hostLabels(settings, one.host) })));
    return { ...shown, gauges: [...shown.gauges, ...jobs, ...indexes, ...servers] };
  }

  /** @throws RpcUnavailableError */
  private async machine(): Promise<Shown> {
    const target = await this.deps.agent.nodeId();
    return target === undefined ? NOTHING : this.deps.context.rpc.ask(readMachineMetrics, {}, { target });
  }

  /** Returns the indexes. The read model takes the place of the snapshot: it shows what was applied. */
  private async indexSeries(): Promise<Series[]> {
    const applied = await this.deps.model.appliedIndex();
    const last = await logEnd(this.deps.context.link).catch(() => applied);
    return [
      this.gaugeOf('raft.lastIndex', Math.max(last, applied)),
      this.gaugeOf('raft.appliedIndex', applied),
      this.gaugeOf('state.snapshotIndex', applied),
      this.gaugeOf('waybill.log.lag', Math.max(0, last - applied), { projection: 'postgres' }),
    ];
  }

  private async health(): Promise<Series[]> {
    const { Healthy, FailureTolerance } = await this.deps.servers.readHealth();
    return [
      this.gaugeOf('nomad.autopilot.healthy', Number(Healthy)),
      this.gaugeOf('nomad.autopilot.failure_tolerance', FailureTolerance),
    ];
  }

  private gaugeOf(name: string, value: number, labels: Labels = {}): Series {
    return { name: `${METRICS_PREFIX}${name}`, labels: { ...labels, ...this.host }, value };
  }
}

/** Returns the last index of the log. */
export async function logEnd(link: NatsLink): Promise<number> {
  const { state } = await (await managerOf(link)).streams.info(TXN_STREAM);
  return state.last_seq;
}
