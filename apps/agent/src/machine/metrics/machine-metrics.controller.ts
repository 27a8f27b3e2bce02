import { Controller } from '@nestjs/common';
import { Answers, readMachineMetrics } from '@waybill/rpc';
import type { Shown } from '@waybill/telemetry';
import { MachineMetrics } from './machine-metrics.js';

/** Answers an API that shows its own and this machine's metrics as one process (`npm start`). */
@Controller()
export class MachineMetricsController {
  constructor(private readonly metrics: MachineMetrics) {}

  @Answers(readMachineMetrics)
  readMetrics(): Promise<Shown> {
    return this.metrics.readMetrics();
  }
}
