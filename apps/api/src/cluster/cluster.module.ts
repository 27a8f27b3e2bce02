import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { AgentIdentity } from './agent-identity.js';
import { ClusterController } from './cluster.controller.js';
import { EnterpriseController } from './enterprise.controller.js';

@Module({
  controllers: [ClusterController, EnterpriseController],
  providers: [
    made(AgentIdentity, ({ context: { settings, newId } }) => {
      const { WAYBILL_REGION, WAYBILL_HTTP_HOST, WAYBILL_HTTP_PORT } = settings;
      return new AgentIdentity(WAYBILL_REGION, WAYBILL_HTTP_HOST, WAYBILL_HTTP_PORT, 'waybill', newId());
    }),
  ],
  exports: [AgentIdentity],
})
export class ClusterModule {}
