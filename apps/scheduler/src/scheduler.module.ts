import { Module } from '@nestjs/common';
import { type ServiceDefinition } from '@waybill/service';
import { tracerFor } from '@waybill/telemetry';
import { Worker } from './worker.js';

@Module({})
class SchedulerModule {}

const name = 'scheduler';

/** Workers that turn evaluations into plans. Any number of processes; none of them writes to the log. */
export const scheduler: ServiceDefinition = {
  name,
  needs: { state: true, database: false },
  build: (context) => {
    const seconds = context.metrics.histogram('scheduling_seconds', 'time of one scheduling pass', ['type']);
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
          onScheduled: (type, tookMs) => seconds.observe({ type }, tookMs / 1000),
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
