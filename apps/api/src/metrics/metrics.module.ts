import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { ClusterMetrics } from './cluster-metrics.transport.js';
import { MetricsController } from './metrics.controller.js';

@Module({
  controllers: [MetricsController],
  providers: [made(ClusterMetrics, ({ context, model }) => new ClusterMetrics(context, model))],
})
export class MetricsModule {}
