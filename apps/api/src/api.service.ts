import { pause } from '@waybill/model';
import { type DynamicModule, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { EventLog, NatsEventStorage, ProjectionFeed, ReadModel, subscribeToAnnouncements } from '@waybill/projection';
import { accessControlOf } from './acl/open-access-control.store.js';
import {
  type ServiceContext,
  type ServiceDefinition,
  type ServiceParts,
  openKeyring,
  TlsIdentity,
  unprotectedListening,
} from '@waybill/service';
import { openAudit } from './audit/open-audit.store.js';
import { RoleRecords } from './audit/role-records.js';
import { RoleRecordsController } from './audit/role-records.controller.js';
import { callersOf, workloadsOf } from './access/callers-of.js';
import { ApiCore } from './api-core.js';
import { advertisedAddress, leadsNowhere } from './regions/advertised-address.js';
import { API_ADDRESS, RegionCallsController } from './regions/region-calls.controller.js';
import { RegionJobs, regionJobsOf } from './regions/region-jobs.js';
import { startApiServer } from './http/api-server.js';
import { issuerWarning } from './keyring/discovery.js';
import { storedRootKeys } from './keyring/stored-root-keys.js';
import { taskCredentials } from './task-api/task-credentials.js';
import { TaskRequests } from './task-api/task-requests.js';
import { TaskRequestsController } from './task-api/task-requests.controller.js';
import { RestoreWatch } from './events/restore-watch.js';
import { Subscriptions } from './events/subscriptions.js';

@Module({})
class ApiRpcModule {}

/** Returns the module that answers other regions, tasks and services, which do not use HTTP. */
function answersToCalls(core: ApiCore, taskRequests: TaskRequests): DynamicModule {
  const { settings, regions, logger } = core.context;
  const address = advertisedAddress(settings);
  if (regions.names.length > 1 && leadsNowhere(settings))
    logger.warn('other regions cannot reach this API: set WAYBILL_HTTP_ADVERTISE to where it is', { told: address });
  const providers = [
    { provide: TaskRequests, useValue: taskRequests },
    { provide: RegionJobs, useValue: regionJobsOf(core) },
    { provide: RoleRecords, useValue: new RoleRecords(core.parts.audit) },
    { provide: API_ADDRESS, useValue: { Address: address, TLS: settings.WAYBILL_TLS_HTTP } },
  ];
  const controllers = [RegionCallsController, TaskRequestsController, RoleRecordsController];
  return { module: ApiRpcModule, controllers, providers };
}

/**
 * api is the service of HTTP `/v1`. It reads from Postgres and writes to the log. It keeps no state of its own, so any
 * number of replicas may run.
 */
export const api: ServiceDefinition = {
  name: 'api',
  needs: { state: false, database: true },
  refuses: unprotectedListening,
  build: buildApi,
};

async function buildApi(context: ServiceContext): Promise<ServiceParts> {
  const { settings, timers, logger, clock } = context;
  const access = await accessControlOf(settings);
  const warning = issuerWarning(settings.WAYBILL_OIDC_ISSUER);
  if (warning !== undefined) logger.warn(warning);
  const audit = await openAudit(context, access);
  const identity = await TlsIdentity.open(settings, { timers, logger, nowMs: () => clock.nowMs() });
  if (settings.WAYBILL_TLS_HTTP)
    context.metrics.gauge('tls_certificate_end_seconds', 'when the certificate of the API ends, in unix time', {
      collect: () => (identity.endsAtMs ?? 0) / 1_000,
    });
  const model = new ReadModel(context.database);
  const feed = new ProjectionFeed({ record: model, clock: context.clock, timers: context.timers });
  const resync = (): void => {
    feed.resync().catch((error: unknown) => context.logger.warn('cannot ask Postgres how far it is', { error }));
  };
  const unsubscribe = subscribeToAnnouncements(context.link.nc, feed, context.logger);
  const offLink = context.link.onChange((up) => up && resync());
  await feed.resync();
  const keyring = await openKeyring(context, storedRootKeys({ model, feed, clock }));
  const workloads = workloadsOf({ clock, model, keyring, feed });
  const callers = callersOf(access, { context, model, feed, workloads });
  const events = new EventLog(new NatsEventStorage(context.link.nc, context.link.inboxPrefix), feed, (ms) =>
    pause(context.timers, ms),
  );
  events.start();
  const subscriptions = new Subscriptions(events, context.timers, context.logger, {
    enabled: context.settings.WAYBILL_EVENT_BROKER,
    replayFrames: context.settings.WAYBILL_EVENT_REPLAY,
  });
  context.metrics.gauge('nomad_waybill_events_subscribers', 'open event streams', {
    collect: () => subscriptions.size,
  });
  context.metrics.gauge(
    'nomad_waybill_events_lag',
    'indexes that the event stream furthest behind has yet to be given',
    {
      collect: () => events.lag,
    },
  );
  const restores = new RestoreWatch(
    feed,
    model,
    () => subscriptions.close(),
    (error) => context.logger.warn('cannot ask Postgres whether the state was restored', { error }),
  );
  await restores.start();
  const core = new ApiCore({
    context,
    model,
    feed,
    events,
    subscriptions,
    restores,
    access,
    identity,
    callers,
    audit,
    keyring,
  });
  const taskRequests = new TaskRequests({
    accepts: taskCredentials(access.isOn, callers, workloads),
    rpc: context.rpc,
    timers,
    logger,
  });
  let server: NestFastifyApplication | undefined;
  return {
    module: answersToCalls(core, taskRequests),
    async start() {
      server = await startApiServer(core);
      taskRequests.serve(server.getHttpAdapter().getInstance());
    },
    reload: async () => {
      await identity.reload();
      await audit.reload();
    },
    async stop() {
      identity.stop();
      taskRequests.stop();
      restores.stop();
      subscriptions.close();
      events.stop();
      feed.stop(); // blocked queries answer what they have
      await server?.close();
      await audit.close();
      offLink();
      unsubscribe();
    },
  };
}
