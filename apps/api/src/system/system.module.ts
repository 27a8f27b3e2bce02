import { TransactionWriter } from '@waybill/writing';
import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { OperatorModule } from '../operator/operator.module.js';
import { ReconcileSummaries } from './reconcile-summaries.js';
import { SystemController } from './system.controller.js';

@Module({
  imports: [OperatorModule],
  controllers: [SystemController],
  providers: [
    made(
      ReconcileSummaries,
      ({ calls, parts }, writes) => new ReconcileSummaries(calls, writes, () => parts.feed.applied),
      TransactionWriter,
    ),
  ],
})
export class SystemModule {}
