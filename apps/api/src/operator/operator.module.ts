import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { BrokerInquiry } from './broker-inquiry.js';
import { SchedulerConfigurationController } from './scheduler-configuration.controller.js';
import { SetSchedulerConfiguration } from './set-scheduler-configuration.js';

@Module({
  controllers: [SchedulerConfigurationController],
  providers: [
    made(BrokerInquiry, ({ calls }) => new BrokerInquiry(calls)),
    made(
      SetSchedulerConfiguration,
      ({ lookup, writer, context }, inquiry) => new SetSchedulerConfiguration(lookup, writer, inquiry, context.clock),
      BrokerInquiry,
    ),
  ],
  exports: [BrokerInquiry],
})
export class OperatorModule {}
