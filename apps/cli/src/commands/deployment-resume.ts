import type { ServerCommand } from '../command-spec.js';
import { changeDeployment } from '../deployments/deployment-change.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';

/** Resumes a paused deployment (CL-604). */
export const command: ServerCommand = {
  usage: '<deployment>',
  description: 'Resumes a paused deployment with new deadlines.\n\nNeeds the capability submit-job.',
  flags: [DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <deployment>' },
  run: (call) =>
    changeDeployment(call, {
      path: 'pause',
      doing: 'resuming deployment',
      body: (DeploymentID) => ({ DeploymentID, Pause: false }),
      done: (id) => `Deployment "${id}" resumed`,
    }),
};
