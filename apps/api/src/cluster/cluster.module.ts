import { Module } from '@nestjs/common';
import type { Settings } from '@waybill/service';
import { made } from '../core.module.js';
import { RegionsModule } from '../regions/regions.module.js';
import { AgentController } from './agent.controller.js';
import { AgentSelfController } from './agent-self.controller.js';
import { AgentStatus } from './agent-status.js';
import { AgentIdentity } from './agent-identity.js';
import { AutopilotHealth } from './autopilot-health.js';
import { AutopilotController } from './autopilot.controller.js';
import { EnterpriseController } from './enterprise.controller.js';
import { Leadership } from './leadership.js';
import { NeighbouringAgent } from './neighbouring-agent.store.js';
import { LogMonitors } from './log-monitors.js';
import { Members } from './members.transport.js';
import { MonitorController } from './monitor.controller.js';
import { RaftController } from './raft.controller.js';
import { ReloadableFiles } from './reloadable-files.js';
import { SchedulerPools } from './scheduler-pools.transport.js';
import { SchedulerWorkersController } from './scheduler-workers.controller.js';
import { StatusController } from './status.controller.js';

/**
 * Returns the address at which others reach this process. Behind a wildcard address or a service it differs from the
 * address on which it listens.
 */
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
    AgentSelfController,
    AutopilotController,
    EnterpriseController,
    MonitorController,
    RaftController,
    SchedulerWorkersController,
    StatusController,
  ],
  providers: [
    made(ReloadableFiles, ({ parts }) => new ReloadableFiles(parts.identity, parts.audit)),
    made(SchedulerPools, ({ context: { link } }) => new SchedulerPools(link)),
    made(LogMonitors, ({ context: { rpc, clock, timers, newId } }) => new LogMonitors({ rpc, clock, timers, newId })),
    made(Leadership, ({ context }) => new Leadership(context.rpc)),
    made(NeighbouringAgent, ({ context }) => new NeighbouringAgent(context.settings.WAYBILL_HTTP_AGENT_DIR)),
    made(AgentIdentity, ({ context: { settings, newId, regions, clock } }) => {
      const { host, port } = shownAddress(settings);
      return new AgentIdentity({
        region: settings.WAYBILL_REGION,
        host,
        port,
        name: 'waybill',
        instanceId: newId(),
        startedMs: clock.nowMs(),
        knownRegions: regions.names.length,
        hasAccessControl: settings.WAYBILL_ACL_ENABLED,
        issuer: settings.WAYBILL_OIDC_ISSUER,
      });
    }),
    made(
      Members,
      ({ context: { link, logger }, parts: { feed } }, identity) =>
        new Members(link.nc, () => identity.asMember(feed.applied), logger),
      AgentIdentity,
    ),
    made(
      AgentStatus,
      ({ model }, neighbour, leadership, members) => new AgentStatus({ neighbour, leadership, members, model }),
      NeighbouringAgent,
      Leadership,
      Members,
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
