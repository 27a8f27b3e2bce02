import { Module } from '@nestjs/common';
import { Archives, Journal, managerOf, openArchive } from '@waybill/journal';
import {
  archiveOf,
  NatsEventStorage,
  rebuildProjection,
  recordedMarks,
  rewindProjection,
  TransactionLog,
} from '@waybill/projection';
import { monotonicClock } from '@waybill/roles';
import { StateMachine } from '@waybill/state';
import { made } from '../core.module.js';
import { LogRecovery } from './log-recovery.js';
import { LogRecoveryController } from './log-recovery.controller.js';
import { RebuildProjection } from './rebuild-projection.js';
import { RestoreSnapshot } from './restore-snapshot.js';
import { ResumedRoles } from './resumed-roles.js';
import { SaveSnapshot } from './save-snapshot.store.js';
import { SnapshotController } from './snapshot.controller.js';
import { BrokerInquiry } from './broker-inquiry.js';
import { ProjectionController } from './projection.controller.js';
import { SchedulerConfigurationController } from './scheduler-configuration.controller.js';
import { SetSchedulerConfiguration } from './set-scheduler-configuration.js';

@Module({
  controllers: [LogRecoveryController, SchedulerConfigurationController, ProjectionController, SnapshotController],
  providers: [
    made(BrokerInquiry, ({ calls }) => new BrokerInquiry(calls)),
    made(
      SaveSnapshot,
      ({ context: { database, newId }, parts: { events } }) =>
        new SaveSnapshot({ database, eventFloor: () => events.floor(), newId }),
    ),
    made(
      RestoreSnapshot,
      ({ context, writes, parts: { feed, model } }, inquiry) => {
        const { link, log, newId } = context;
        return new RestoreSnapshot({
          open: openArchive,
          archives: new Archives(link, () => managerOf(link)),
          log,
          writer: writes,
          readable: (index, timeoutMs) => feed.waitFor(index, timeoutMs),
          roles: new ResumedRoles({
            feed,
            leases: () => model.leases(),
            brokerAt: (index) => inquiry.enabledAt(index),
            monotonic: monotonicClock,
          }),
          applied: () => model.appliedIndex(),
          monotonic: monotonicClock,
          newId,
        });
      },
      BrokerInquiry,
    ),
    made(LogRecovery, ({ context, writes, parts: { events, model } }) => {
      const { link, database, newId, logger, history } = context;
      const storage = new NatsEventStorage(link.nc, link.inboxPrefix);
      const transactions = new TransactionLog(database);
      return new LogRecovery({
        openJournal: () => new Journal(link),
        marks: () => recordedMarks(database),
        lostAbove: async (index, limit) =>
          (await transactions.page({ namespaces: '*', from: index + 1, perPage: limit })).txns,
        restoredIndex: () => model.restoredIndex(),
        leases: () => model.leases(),
        rewind: (rewound) => rewindProjection(database, rewound, new StateMachine()),
        events: {
          newest: () => storage.newest(),
          removeAbove: (index) => storage.removeAbove(index),
        },
        pack: (machine) => archiveOf(machine, () => events.floor(), newId()),
        open: openArchive,
        divergence: () => history.divergence,
        writer: writes,
        newId,
        logger,
      });
    }),
    made(RebuildProjection, ({ context, parts: { model } }) => {
      const { link, database, logger } = context;
      return new RebuildProjection({
        openJournal: () => new Journal(link),
        appliedIndex: () => model.appliedIndex(),
        leases: () => model.leases(),
        open: openArchive,
        rebuild: (source) => rebuildProjection(database, source),
        logger,
      });
    }),
    made(
      SetSchedulerConfiguration,
      ({ lookup, writes }, inquiry) => new SetSchedulerConfiguration(lookup, writes, inquiry),
      BrokerInquiry,
    ),
  ],
  exports: [BrokerInquiry],
})
export class OperatorModule {}
