import { Module } from '@nestjs/common';
import { ScalingPoliciesController } from './scaling-policies.controller.js';

/** ScalingModule has the scaling policies. Scaling itself belongs to jobs. */
@Module({ controllers: [ScalingPoliciesController] })
export class ScalingModule {}
