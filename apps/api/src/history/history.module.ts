import { Module } from '@nestjs/common';
import { Journal } from '@waybill/journal';
import { HistoryRedaction, TransactionLog, Watches } from '@waybill/projection';
import { readLog } from '@waybill/replica';
import { monotonicClock } from '@waybill/roles';
import { made } from '../core.module.js';
import { TraceReader } from './trace-reader.js';
import { HistoryController, HistoryReads } from './history.controller.js';
import { RedactHistory } from './redact-history.js';
import { RedactionController } from './redaction.controller.js';

@Module({
  controllers: [HistoryController, RedactionController],
  providers: [
    made(TransactionLog, ({ context }) => new TransactionLog(context.database)),
    made(TraceReader, ({ context, model }) => new TraceReader(model, new TransactionLog(context.database))),
    made(RedactHistory, ({ context: { link, database, timers }, writes, cache }) => {
      const withJournal = async <T>(work: (journal: Journal) => Promise<T>): Promise<T> => {
        const journal = new Journal(link);
        try {
          return await work(journal);
        } finally {
          journal.close();
        }
      };
      return new RedactHistory({
        redaction: new HistoryRedaction(database),
        writer: writes,
        bounds: () => withJournal((journal) => journal.bounds()),
        readLog: (options) => withJournal((journal) => readLog(journal, options)),
        onBlanked: () => cache.clear(),
        timers,
        monotonic: monotonicClock,
      });
    }),
    made(HistoryReads, (core) => {
      const everyIndex = new Watches(core.context.timers);
      core.parts.feed.onAdvance(() => everyIndex.wakeAll());
      return new HistoryReads(core.blocking(everyIndex), core.age, core.cache);
    }),
  ],
})
export class HistoryModule {}
