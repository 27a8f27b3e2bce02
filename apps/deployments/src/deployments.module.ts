import { Module } from '@nestjs/common';
import type { ServiceDefinition } from '@waybill/service';
import { DeploymentWatchers } from './watching/deployment-watchers.js';
import { DeploymentsController } from './deployments.controller.js';
import { OperatorCommands } from './commands/operator-commands.js';
import { readsPerSecond } from './watching/read-limiter.js';
import { RegionCommands } from './regions/region-commands.js';
import { RegionsController } from './regions/regions.controller.js';

@Module({})
class DeploymentsModule {}

/** The service that watches active deployments and carries out operators' commands, under the lease `deployments`. */
export const deployments: ServiceDefinition = {
  name: 'deployments',
  needs: { state: true, database: false },
  build: (context) => {
    const { state, clock, timers, newId, logger, settings, regions, random } = context;
    const watchers = new DeploymentWatchers({
      state,
      clock,
      timers,
      newId,
      logger,
      region: settings.WAYBILL_REGION,
      peers: { regions, random },
      readsPerSecond: readsPerSecond(settings.WAYBILL_DEPLOY_QUERY_RATE_LIMIT),
    });
    return {
      module: {
        module: DeploymentsModule,
        controllers: [DeploymentsController, RegionsController],
        providers: [
          { provide: DeploymentWatchers, useValue: watchers },
          { provide: OperatorCommands, useValue: new OperatorCommands(() => watchers.watching) },
          { provide: RegionCommands, useValue: new RegionCommands(() => watchers.watching) },
        ],
      },
      singleton: watchers,
    };
  },
};
