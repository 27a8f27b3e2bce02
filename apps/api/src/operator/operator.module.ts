import { Module } from '@nestjs/common';
import { Archives, managerOf, openArchive } from '@waybill/journal';
import { made } from '../core.module.js';
import { RestoreSnapshot } from './restore-snapshot.js';
import { ResumedRoles } from './resumed-roles.js';
import { SnapshotController } from './snapshot.controller.js';
import { BrokerInquiry } from './broker-inquiry.js';
import { ProjectionController } from './projection.controller.js';
import { SchedulerConfigurationController } from './scheduler-configuration.controller.js';
import { SetSchedulerConfiguration } from './set-scheduler-configuration.js';

@Module({
  controllers: [SchedulerConfigurationController, ProjectionController, SnapshotController],
  providers: [
    made(BrokerInquiry, ({ calls }) => new BrokerInquiry(calls)),
    made(
      RestoreSnapshot,
      ({ context, parts: { feed, model } }, inquiry) => {
        const { link, log, clock, newId } = context;
        return new RestoreSnapshot({
          open: openArchive,
          archives: new Archives(link, () => managerOf(link)),
          log,
          readable: (index, timeoutMs) => feed.waitFor(index, timeoutMs),
          roles: new ResumedRoles({
            feed,
            leases: () => model.leases(),
            brokerAt: (index) => inquiry.enabledAt(index),
            clock,
          }),
          applied: () => model.appliedIndex(),
          clock,
          newId,
        });
      },
      BrokerInquiry,
    ),
    made(
      SetSchedulerConfiguration,
      ({ lookup, writer, context }, inquiry) => new SetSchedulerConfiguration(lookup, writer, inquiry, context.clock),
      BrokerInquiry,
    ),
  ],
  exports: [BrokerInquiry],
})
export class OperatorModule {}
