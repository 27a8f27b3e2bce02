import { Module } from '@nestjs/common';
import { ClusterModule } from '../cluster/cluster.module.js';
import { AllocationActionsController } from './allocation-actions.controller.js';
import { DiskSnapshotController } from './disk-snapshot.controller.js';
import { FilesController } from './files.controller.js';
import { LogsController } from './logs.controller.js';
import { MachinesController } from './machines.controller.js';
import { NotOfferedController } from './not-offered.controller.js';

/** ClientModule has the requests that machines answer, sent through the servers. */
@Module({
  imports: [ClusterModule],
  controllers: [
    AllocationActionsController,
    DiskSnapshotController,
    FilesController,
    LogsController,
    MachinesController,
    NotOfferedController,
  ],
})
export class ClientModule {}
