import { Controller } from '@nestjs/common';
import { Answers, readMachineMetrics } from '@waybill/rpc';
import type { Shown } from '@waybill/telemetry';
import { MachineMetrics } from './machine-metrics.js';

/** For the API that clients see as one with this machine (`npm start`). */
@Controller()
export class MachineMetricsController {
  constructor(private readonly metrics: MachineMetrics) {}

  @Answers(readMachineMetrics)
  readMetrics(): Promise<Shown> {
    return this.metrics.readMetrics();
  }
}
