import { Module } from '@nestjs/common';
import { ScalingPoliciesController } from './scaling-policies.controller.js';

/** Scaling policies. Scaling itself belongs to jobs. */
@Module({ controllers: [ScalingPoliciesController] })
export class ScalingModule {}
