import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { BrokerInquiry } from '../operator/broker-inquiry.js';
import { OperatorModule } from '../operator/operator.module.js';
import { DeleteEvaluations } from './delete-evaluations.js';
import { EvalTimers } from './eval-timers.js';
import { EvaluationsController } from './evaluations.controller.js';

@Module({
  imports: [OperatorModule],
  controllers: [EvaluationsController],
  providers: [
    made(EvalTimers, ({ context }) => new EvalTimers(context.metrics, context.clock)),
    made(
      DeleteEvaluations,
      ({ model, writes }, inquiry) => new DeleteEvaluations(model, writes, inquiry),
      BrokerInquiry,
    ),
  ],
})
export class EvaluationsModule {}
