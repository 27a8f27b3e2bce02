import { Module } from '@nestjs/common';
import { DeploymentWritesController } from './deployment-writes.controller.js';
import { DeploymentsController } from './deployments.controller.js';

@Module({ controllers: [DeploymentWritesController, DeploymentsController] })
export class DeploymentsModule {}
