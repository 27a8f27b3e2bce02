import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { RegionsModule } from '../regions/regions.module.js';
import { AgentController } from './agent.controller.js';
import { AgentIdentity } from './agent-identity.js';
import { AutopilotController } from './autopilot.controller.js';
import { ClusterController } from './cluster.controller.js';
import { EnterpriseController } from './enterprise.controller.js';
import { Leadership } from './leadership.js';
import { NeighbouringAgent } from './neighbouring-agent.store.js';
import { MonitorController } from './monitor.controller.js';
import { RaftController } from './raft.controller.js';
import { SchedulerWorkersController } from './scheduler-workers.controller.js';

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
    made(Leadership, ({ context }) => new Leadership(context.rpc)),
    made(NeighbouringAgent, ({ context }) => new NeighbouringAgent(context.settings.WAYBILL_HTTP_AGENT_DIR)),
    made(AgentIdentity, ({ context: { settings, newId, regions } }) => {
      const { WAYBILL_REGION, WAYBILL_HTTP_HOST, WAYBILL_HTTP_PORT } = settings;
      const knownRegions = regions.names.length;
      return new AgentIdentity(WAYBILL_REGION, WAYBILL_HTTP_HOST, WAYBILL_HTTP_PORT, 'waybill', newId(), knownRegions);
    }),
  ],
  exports: [AgentIdentity],
})
export class ClusterModule {}
