import type { ServerCommand } from '../command-spec.js';
import { changeDeployment } from '../deployments/deployment-change.js';
import { VERBOSE_FLAG } from '../terminal/display.js';

/** Pauses a deployment (CL-604). */
export const command: ServerCommand = {
  usage: '<deployment>',
  description:
    'Pauses a deployment: until it is resumed, nothing is placed and no deadline passes.\n\nNeeds the capability ' +
    'submit-job.',
  flags: [VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <deployment>' },
  run: (call) =>
    changeDeployment(call, {
      path: 'pause',
      doing: 'pausing deployment',
      body: (DeploymentID) => ({ DeploymentID, Pause: true }),
      done: (id) => `Deployment "${id}" paused`,
    }),
};
