import { Module } from '@nestjs/common';
import { type ServiceDefinition } from '@waybill/service';
import { tracerFor } from '@waybill/telemetry';
import { ContractWorkerMeter } from './worker-meter.js';
import { Worker } from './worker.js';

@Module({})
class SchedulerModule {}

const name = 'scheduler';

/** Workers that turn evaluations into plans. Any number of processes; none of them writes to the log. */
export const scheduler: ServiceDefinition = {
  name,
  needs: { state: true, database: false },
  build: (context) => {
    const meter = new ContractWorkerMeter(context.metrics);
    const workers = Array.from(
      { length: context.settings.WAYBILL_SCHEDULER_WORKERS },
      (_, n) =>
        new Worker({
          rpc: context.rpc,
          state: context.state,
          clock: context.clock,
          timers: context.timers,
          newId: context.newId,
          logger: context.logger.with({ worker: n }),
          tracer: () => tracerFor(name),
          meter,
        }),
    );
    return {
      module: { module: SchedulerModule },
      start: () => {
        for (const worker of workers) worker.start();
      },
      stop: async () => {
        await Promise.all(workers.map((worker) => worker.stop()));
      },
    };
  },
};
