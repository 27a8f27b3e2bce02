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
import { ReadModelIndex } from './housekeeping/read-model-index.js';

@Module({})
class BrokerModule {}

const name = 'broker';

interface Receiver {
  receive(announcement: Announcement): void;
}
/** Subscribes to the indexes that the projector has written. @returns unsubscribe */
export type SubscribeToProjected = (context: ServiceContext, receiver: Receiver) => () => void;

const overNats: SubscribeToProjected = ({ link, logger }, receiver) =>
  subscribeToAnnouncements(link.nc, receiver, logger);

/**
 * The service that delivers evaluations, tracks the blocked ones, and verifies and commits plans, under the lease `broker`.
 * @param subscribeToProjected replaced in the simulator, which has no NATS
 */
export const brokerService = (subscribeToProjected: SubscribeToProjected = overNats): ServiceDefinition => ({
  name,
  needs: { state: true, database: false },
  build: async (context) => {
    const { settings } = context;
    const keys = rootKeysOf(context.state);
    const keyring = await openKeyring(context, keys);
    /** A holder whose wrapping key differs from its predecessor's must not make a key that other services cannot unwrap. */
    const makeRootKey: MakeRootKey = async (specification) => {
      if (keys.active()) await keyring.ready();
      return keyring.newRootKey(specification);
    };
    const readModel = new ReadModelIndex(context.timers);
    const unsubscribe = subscribeToProjected(context, { receive: ({ to }) => readModel.advanceTo(to) });
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
      rotationTimes: {
        checkMs: settings.WAYBILL_ROOT_KEY_GC_INTERVAL / NS_PER_MS,
        rotationNs: settings.WAYBILL_ROOT_KEY_ROTATION_THRESHOLD,
        collectionNs: settings.WAYBILL_ROOT_KEY_GC_THRESHOLD,
      },
      makeRootKey: keyring.isOn ? makeRootKey : undefined,
      sealer: keyring.isOn ? keyring : undefined,
      rewrapper: keyring.isOn ? keyring : undefined,
      waitUntilReadable: (index) => readModel.waitFor(index),
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
