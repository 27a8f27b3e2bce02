import { Module } from '@nestjs/common';
import type { ReplicatedState } from '@waybill/replica';
import { offerPool } from '@waybill/rpc';
import { type ServiceContext, type ServiceDefinition, type Settings } from '@waybill/service';
import type { NodeLoads } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import { ContractWorkerMeter } from './worker/worker-meter.js';
import { DRY_RUN_DEPS, type DryRunDeps, SchedulerController } from './scheduler.controller.js';
import type { Thresholds } from './collection/thresholds.js';
import { occupyingLoads } from './plan-draft.js';
import { Worker } from './worker/worker.js';
import { WorkerPool } from './worker/worker-pool.js';

@Module({})
class SchedulerModule {}

const name = 'scheduler';

/** Offers a pool to callers that may change it. @returns ends the offer */
export type OfferPool = (context: ServiceContext, pool: WorkerPool) => () => void;

const offerOverNats: OfferPool = ({ link }, pool) => offerPool(link.nc, pool);

/**
 * The service with workers, which turn evaluations into plans, and dry runs. Any number of processes; none of them
 * writes to the log. @param offer replaced where simulated processes have no NATS
 */
export const schedulerService = (offer: OfferPool = offerOverNats): ServiceDefinition => ({
  name,
  needs: { state: true, database: false },
  build: (context) => {
    const meter = new ContractWorkerMeter(context.metrics);
    const loads = loadsKept(context.state);
    const { state, clock, newId } = context;
    const hire = (enabledSchedulers: readonly string[]): Worker =>
      new Worker({
        rpc: context.rpc,
        state,
        clock,
        timers: context.timers,
        newId,
        logger: context.logger,
        tracer: () => tracerFor(name),
        meter,
        enabledSchedulers,
        thresholds: thresholdsOf(context.settings),
        loads,
      });
    const { settings, logger } = context;
    const pool = new WorkerPool({ hire, newId, clock, logger }, settings.WAYBILL_ENABLED_SCHEDULERS);
    let endOffer = (): void => {};
    const dryRuns: DryRunDeps = { state, clock, newId };
    return {
      module: {
        module: SchedulerModule,
        controllers: [SchedulerController],
        providers: [{ provide: DRY_RUN_DEPS, useValue: dryRuns }],
      },
      start: () => {
        pool.start(settings.WAYBILL_SCHEDULER_WORKERS);
        endOffer = offer(context, pool);
      },
      stop: async () => {
        endOffer();
        await pool.stop();
      },
    };
  },
});

export const scheduler = schedulerService();

/** The resources that each node's allocations use, maintained once for all workers of the process. */
function loadsKept(state: ReplicatedState): NodeLoads {
  const loads = occupyingLoads(state.tables);
  state.onApplied(loads.applied);
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
  tokenNs: settings.WAYBILL_ACL_TOKEN_GC_THRESHOLD,
  rootKeyNs: settings.WAYBILL_ROOT_KEY_ROTATION_THRESHOLD + settings.WAYBILL_ROOT_KEY_GC_THRESHOLD,
});
