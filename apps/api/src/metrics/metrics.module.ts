import { Module } from '@nestjs/common';
import { ClusterModule } from '../cluster/cluster.module.js';
import { Members } from '../cluster/members.transport.js';
import { made } from '../core.module.js';
import { ClusterMetrics } from './cluster-metrics.transport.js';
import { MetricsController } from './metrics.controller.js';

@Module({
  imports: [ClusterModule],
  controllers: [MetricsController],
  providers: [
    made(ClusterMetrics, ({ context, model }, members) => new ClusterMetrics(context, model, members), Members),
  ],
})
export class MetricsModule {}
