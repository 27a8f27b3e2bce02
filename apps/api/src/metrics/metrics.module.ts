import { Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { metricsView, statsdSender, StatsdSender } from '@waybill/service';
import { MetricsView } from '@waybill/telemetry';
import { AutopilotHealth } from '../cluster/autopilot-health.js';
import { ClusterModule } from '../cluster/cluster.module.js';
import { Members } from '../cluster/members.transport.js';
import { NeighbouringAgent } from '../cluster/neighbouring-agent.store.js';
import { made } from '../core.module.js';
import { ClusterMetrics } from './cluster-metrics.transport.js';
import { ControlPlaneController } from './control-plane.controller.js';
import { ControlPlaneReader } from './control-plane.transport.js';
import { MetricsController } from './metrics.controller.js';

/** MetricsModule provides metrics for requests and for statsd. */
@Module({
  imports: [ClusterModule],
  controllers: [MetricsController, ControlPlaneController],
  providers: [
    made(ControlPlaneReader, ({ context, model }) => new ControlPlaneReader(context, model)),
    made(
      ClusterMetrics,
      ({ context, model }, members, servers, agent) => new ClusterMetrics({ context, model, members, servers, agent }),
      Members,
      AutopilotHealth,
      NeighbouringAgent,
    ),
    made(MetricsView, ({ context }, cluster) => metricsView(context, () => cluster.readMetrics()), ClusterMetrics),
    made(StatsdSender, ({ context }, cluster) => statsdSender(context, () => cluster.ofServers()), ClusterMetrics),
  ],
})
export class MetricsModule implements OnModuleInit, OnModuleDestroy {
  constructor(private readonly statsd: StatsdSender) {}

  onModuleInit(): void {
    this.statsd.start();
  }

  onModuleDestroy(): void {
    this.statsd.stop();
  }
}
