export { DeploymentWatchers, type DeploymentWatchersDeps } from './watching/deployment-watchers.js';
export { deployments } from './deployments.module.js';
export { OperatorCommands } from './commands/operator-commands.js';
export { RegionCommands } from './regions/region-commands.js';
export { RegionsController } from './regions/regions.controller.js';
