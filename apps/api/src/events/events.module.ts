import { Module } from '@nestjs/common';
import { EventLog } from '@waybill/projection';
import { made } from '../core.module.js';
import { EventStreamController } from './event-stream.controller.js';
import { RestoreWatch } from './restore-watch.js';
import { StreamPermits } from './stream-permit.js';
import { Subscriptions } from './subscriptions.js';

@Module({
  controllers: [EventStreamController],
  providers: [
    made(EventLog, ({ parts }) => parts.events),
    made(Subscriptions, ({ parts }) => parts.subscriptions),
    made(StreamPermits, ({ guard: { namespaces }, watches }) => new StreamPermits({ watches, namespaces })),
    made(RestoreWatch, ({ parts }) => parts.restores),
  ],
})
export class EventsModule {}
