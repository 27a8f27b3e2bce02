export { DeploymentWatchers, type DeploymentWatchersDeps } from './deployment-watchers.js';
export { deployments } from './deployments.module.js';
export { OperatorCommands } from './operator-commands.js';
export { RegionCommands } from './region-commands.js';
export { RegionsController } from './regions.controller.js';
