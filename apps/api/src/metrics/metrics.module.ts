import { Module } from '@nestjs/common';
import { metricsView } from '@waybill/service';
import { MetricsView } from '@waybill/telemetry';
import { AutopilotHealth } from '../cluster/autopilot-health.js';
import { ClusterModule } from '../cluster/cluster.module.js';
import { Members } from '../cluster/members.transport.js';
import { NeighbouringAgent } from '../cluster/neighbouring-agent.store.js';
import { made } from '../core.module.js';
import { ClusterMetrics } from './cluster-metrics.transport.js';
import { MetricsController } from './metrics.controller.js';

@Module({
  imports: [ClusterModule],
  controllers: [MetricsController],
  providers: [
    made(
      MetricsView,
      ({ context, model }, members, servers, agent) => {
        const cluster = new ClusterMetrics(context, model, members, servers, agent);
        return metricsView(context, () => cluster.read());
      },
      Members,
      AutopilotHealth,
      NeighbouringAgent,
    ),
  ],
})
export class MetricsModule {}
