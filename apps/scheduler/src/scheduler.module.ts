import { Module } from '@nestjs/common';
import type { ReplicatedState } from '@waybill/replica';
import { type ServiceDefinition, type Settings } from '@waybill/service';
import type { NodeLoads } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import { ContractWorkerMeter } from './worker-meter.js';
import { DRY_RUN_DEPS, type DryRunDeps, SchedulerController } from './scheduler.controller.js';
import type { Thresholds } from './collection/thresholds.js';
import { occupyingLoads } from './plan-draft.js';
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
    const loads = loadsKept(context.state);
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
          thresholds: thresholdsOf(context.settings),
          loads,
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

/** One for all workers of the process: what each node's allocations take, as of the state. */
function loadsKept(state: ReplicatedState): NodeLoads {
  const loads = occupyingLoads(state.tables);
  state.onApplied(({ changes }) => {
    for (const change of changes) loads.changed(change);
  });
  return loads;
}

const thresholdsOf = (settings: Settings): Thresholds => ({
  evaluationNs: settings.WAYBILL_EVAL_GC_THRESHOLD,
  batchEvaluationNs: settings.WAYBILL_BATCH_EVAL_GC_THRESHOLD,
  jobNs: settings.WAYBILL_JOB_GC_THRESHOLD,
  deploymentNs: settings.WAYBILL_DEPLOYMENT_GC_THRESHOLD,
  nodeNs: settings.WAYBILL_NODE_GC_THRESHOLD,
  volumeClaimNs: settings.WAYBILL_CSI_VOLUME_CLAIM_GC_THRESHOLD,
  pluginNs: settings.WAYBILL_CSI_PLUGIN_GC_THRESHOLD,
});
