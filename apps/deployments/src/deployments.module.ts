import { Module } from '@nestjs/common';
import type { ServiceDefinition } from '@waybill/service';
import { DeploymentWatchers } from './deployment-watchers.js';

@Module({})
class DeploymentsModule {}

/** Watches active deployments, under the lease `deployments`. */
export const deployments: ServiceDefinition = {
  name: 'deployments',
  needs: { state: true, database: false },
  build: (context) => ({
    module: { module: DeploymentsModule },
    singleton: new DeploymentWatchers(context.state),
  }),
};
