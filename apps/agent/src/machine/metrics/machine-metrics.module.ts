import { type DynamicModule, Module } from '@nestjs/common';
import { MachineMetricsController } from './machine-metrics.controller.js';
import { MachineMetrics } from './machine-metrics.js';

@Module({})
export class MachineMetricsModule {
  static of(metrics: MachineMetrics): DynamicModule {
    return {
      module: MachineMetricsModule,
      controllers: [MachineMetricsController],
      providers: [{ provide: MachineMetrics, useValue: metrics }],
    };
  }
}
