import { Module } from '@nestjs/common';
import { type Settings, TlsIdentity } from '@waybill/service';
import { ApiCore } from '../api-core.js';
import { Audit } from '../audit/audit.js';
import { made } from '../core.module.js';
import { RegionsModule } from '../regions/regions.module.js';
import { AgentController } from './agent.controller.js';
import { AgentIdentity } from './agent-identity.js';
import { AutopilotHealth } from './autopilot-health.js';
import { AutopilotController } from './autopilot.controller.js';
import { ClusterController } from './cluster.controller.js';
import { EnterpriseController } from './enterprise.controller.js';
import { Leadership } from './leadership.js';
import { NeighbouringAgent } from './neighbouring-agent.store.js';
import { Members } from './members.transport.js';
import { MonitorController } from './monitor.controller.js';
import { RaftController } from './raft.controller.js';
import { SchedulerWorkersController } from './scheduler-workers.controller.js';

/** Where others reach this process: behind a wildcard or a service that is not where it listens. */
function shownAddress(settings: Settings): { readonly host: string; readonly port: number } {
  const { WAYBILL_HTTP_ADVERTISE: advertised, WAYBILL_HTTP_HOST: host, WAYBILL_HTTP_PORT: port } = settings;
  if (advertised === '') return { host, port };
  const at = advertised.lastIndexOf(':');
  return { host: advertised.slice(0, at), port: Number(advertised.slice(at + 1)) };
}

@Module({
  imports: [RegionsModule],
  controllers: [
    AgentController,
    AutopilotController,
    ClusterController,
    EnterpriseController,
    MonitorController,
    RaftController,
    SchedulerWorkersController,
  ],
  providers: [
    { provide: TlsIdentity, inject: [ApiCore], useFactory: ({ parts }: ApiCore) => parts.identity },
    made(Audit, ({ parts }) => parts.audit),
    made(Leadership, ({ context }) => new Leadership(context.rpc)),
    made(NeighbouringAgent, ({ context }) => new NeighbouringAgent(context.settings.WAYBILL_HTTP_AGENT_DIR)),
    made(AgentIdentity, ({ context: { settings, newId, regions, clock } }) => {
      const { host, port } = shownAddress(settings);
      const knownRegions = regions.names.length;
      const { WAYBILL_REGION: region, WAYBILL_ACL_ENABLED: hasAccessControl } = settings;
      const startedMs = clock.nowMs();
      return new AgentIdentity(region, host, port, 'waybill', newId(), startedMs, knownRegions, hasAccessControl);
    }),
    made(
      Members,
      ({ context, parts: { feed } }, identity) => new Members(context.link.nc, () => identity.asMember(feed.applied)),
      AgentIdentity,
    ),
    made(
      AutopilotHealth,
      ({ context: { link, settings }, model }, members) =>
        new AutopilotHealth(model, members, link, settings.WAYBILL_STREAM_REPLICAS),
      Members,
    ),
  ],
  exports: [AgentIdentity, AutopilotHealth, Members, NeighbouringAgent],
})
export class ClusterModule {}
