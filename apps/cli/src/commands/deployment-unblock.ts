import type { ServerCommand } from '../command-spec.js';
import { changeDeployment } from '../deployments/deployment-change.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';

/** Unblocks a deployment that waits for other regions (CL-604). */
export const command: ServerCommand = {
  usage: '<deployment>',
  description:
    'Ends a deployment that waits for other regions as successful, without them.\n\nNeeds the capability ' +
    'submit-job.',
  flags: [DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <deployment>' },
  run: (call) =>
    changeDeployment(call, {
      path: 'unblock',
      doing: 'unblocking deployment',
      body: (DeploymentID) => ({ DeploymentID }),
      done: (id) => `Deployment "${id}" unblocked`,
    }),
};
