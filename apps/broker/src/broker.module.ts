import { Module } from '@nestjs/common';
import { nextLaunchMs, NS_PER_MS } from '@waybill/model';
import { type Announcement, subscribeToAnnouncements } from '@waybill/projection';
import { rootKeysOf } from '@waybill/state';
import { openKeyring, type ServiceContext, type ServiceDefinition } from '@waybill/service';
import { tracerFor } from '@waybill/telemetry';
import { BrokerController } from './broker.controller.js';
import { Broker } from './broker.js';
import { ContractMeter, exposeGauges } from './contract-metrics.js';
import type { MakeRootKey } from './housekeeping/first-root-key.js';
import { ReadModelPace } from './housekeeping/read-model-pace.js';

@Module({})
class BrokerModule {}

const name = 'broker';

interface Receiver {
  receive(announcement: Announcement): void;
}
/** How a service hears what the projector has written. @returns ends it */
export type HearProjected = (context: ServiceContext, receiver: Receiver) => () => void;

const overNats: HearProjected = ({ link, logger }, receiver) => subscribeToAnnouncements(link.nc, receiver, logger);

/**
 * Hands out evaluations, keeps the blocked ones, judges and commits plans, under the lease `broker`.
 * @param hearProjected for the simulator, where there is no NATS
 */
export const brokerService = (hearProjected: HearProjected = overNats): ServiceDefinition => ({
  name,
  needs: { state: true, database: false },
  build: async (context) => {
    const { settings } = context;
    const keys = rootKeysOf(context.state);
    const keyring = await openKeyring(context, keys);
    /** A holder with another wrapping key than the one before makes no key that the other services cannot use. */
    const makeRootKey: MakeRootKey = async (said) => {
      if (keys.active()) await keyring.ready();
      return keyring.newRootKey(said);
    };
    const pace = new ReadModelPace(context.timers);
    const unsubscribe = hearProjected(context, { receive: ({ to }) => pace.heard(to) });
    const singleton = new Broker({
      state: context.state,
      clock: context.clock,
      timers: context.timers,
      newId: context.newId,
      random: context.random,
      nextLaunchMs,
      logger: context.logger,
      tracer: () => tracerFor(name),
      region: settings.WAYBILL_REGION,
      defaultConfiguration: settings.WAYBILL_DEFAULT_SCHEDULER_CONFIG,
      pipelineDepth: settings.WAYBILL_PLAN_APPLY_PIPELINE,
      rejectionTracker: {
        enabled: settings.WAYBILL_PLAN_REJECTION_TRACKER,
        nodeThreshold: settings.WAYBILL_PLAN_REJECTION_NODE_THRESHOLD,
        nodeWindowMs: settings.WAYBILL_PLAN_REJECTION_NODE_WINDOW_MS,
      },
      meter: new ContractMeter(context.metrics),
      corePeriodsMs: {
        'job-gc': settings.WAYBILL_JOB_GC_INTERVAL / NS_PER_MS,
        'csi-volume-claim-gc': settings.WAYBILL_CSI_VOLUME_CLAIM_GC_INTERVAL / NS_PER_MS,
      },
      makeRootKey: keyring.isOn ? makeRootKey : undefined,
      sealer: keyring.isOn ? keyring : undefined,
      readable: (index) => pace.readable(index),
    });
    exposeGauges(context.metrics, singleton);
    return {
      module: {
        module: BrokerModule,
        controllers: [BrokerController],
        providers: [{ provide: Broker, useValue: singleton }],
      },
      singleton,
      stop: unsubscribe,
    };
  },
});

export const broker = brokerService();
