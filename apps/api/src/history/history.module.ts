import { Module } from '@nestjs/common';
import { TransactionLog, Watches } from '@waybill/projection';
import { made } from '../core.module.js';
import { TraceReader } from './trace-reader.js';
import { HistoryController, HistoryReads } from './history.controller.js';

@Module({
  controllers: [HistoryController],
  providers: [
    made(TransactionLog, ({ context }) => new TransactionLog(context.database)),
    made(TraceReader, ({ context, model }) => new TraceReader(model, new TransactionLog(context.database))),
    made(HistoryReads, (core) => {
      const everyIndex = new Watches(core.context.timers);
      core.parts.feed.onAdvance(() => everyIndex.wakeAll());
      return new HistoryReads(core.blocking(everyIndex), core.age, core.cache);
    }),
  ],
})
export class HistoryModule {}
