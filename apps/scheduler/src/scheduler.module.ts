import { Module } from '@nestjs/common';
import { type ServiceDefinition } from '@waybill/service';
import { tracerFor } from '@waybill/telemetry';
import { ContractWorkerMeter } from './worker-meter.js';
import { DRY_RUN_DEPS, type DryRunDeps, SchedulerController } from './scheduler.controller.js';
import { Worker } from './worker.js';

@Module({})
class SchedulerModule {}

const name = 'scheduler';

/** Workers that turn evaluations into plans, and dry runs. Any number of processes; none of them writes to the log. */
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
    const { state, clock, newId } = context;
    const dryRuns: DryRunDeps = { state, clock, newId };
    return {
      module: {
        module: SchedulerModule,
        controllers: [SchedulerController],
        providers: [{ provide: DRY_RUN_DEPS, useValue: dryRuns }],
      },
      start: () => {
        for (const worker of workers) worker.start();
      },
      stop: async () => {
        await Promise.all(workers.map((worker) => worker.stop()));
      },
    };
  },
};
