import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { ClusterModule } from '../cluster/cluster.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { NodeList } from './node-list.js';
import { NodePoolMembersController } from './node-pool-members.controller.js';
import { NodePoolsController } from './node-pools.controller.js';
import { NodeWritesController } from './node-writes.controller.js';
import { NodesController } from './nodes.controller.js';

/** NodesModule has nodes and node pools. */
@Module({
  imports: [ClusterModule, JobsModule],
  controllers: [NodePoolsController, NodePoolMembersController, NodeWritesController, NodesController],
  providers: [made(NodeList, ({ model, reads }) => new NodeList(model, reads))],
})
export class NodesModule {}
