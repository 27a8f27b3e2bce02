import { Module } from '@nestjs/common';
import { nextLaunchMs } from '@waybill/model';
import { type ServiceDefinition } from '@waybill/service';
import { tracerFor } from '@waybill/telemetry';
import { BrokerController } from './broker.controller.js';
import { Broker } from './broker.js';
import { ContractMeter, exposeGauges } from './contract-metrics.js';

@Module({})
class BrokerModule {}

const name = 'broker';

/** Hands out evaluations, keeps the blocked ones, judges and commits plans, under the lease `broker`. */
export const broker: ServiceDefinition = {
  name,
  needs: { state: true, database: false },
  build: (context) => {
    const singleton = new Broker({
      state: context.state,
      clock: context.clock,
      timers: context.timers,
      newId: context.newId,
      random: context.random,
      nextLaunchMs,
      logger: context.logger,
      tracer: () => tracerFor(name),
      region: context.settings.WAYBILL_REGION,
      pipelineDepth: context.settings.WAYBILL_PLAN_APPLY_PIPELINE,
      rejectionTracker: {
        enabled: context.settings.WAYBILL_PLAN_REJECTION_TRACKER,
        nodeThreshold: context.settings.WAYBILL_PLAN_REJECTION_NODE_THRESHOLD,
        nodeWindowMs: context.settings.WAYBILL_PLAN_REJECTION_NODE_WINDOW_MS,
      },
      meter: new ContractMeter(context.metrics),
    });
    exposeGauges(context.metrics, singleton);
    return {
      module: {
        module: BrokerModule,
        controllers: [BrokerController],
        providers: [{ provide: Broker, useValue: singleton }],
      },
      singleton,
    };
  },
};
