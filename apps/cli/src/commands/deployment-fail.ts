import type { ServerCommand } from '../command-spec.js';
import { changeDeployment } from '../deployments/deployment-change.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';

/** Fails a deployment and names the version it reverted to, if any (CL-604). */
export const command: ServerCommand = {
  usage: '<deployment>',
  description:
    'Fails a deployment. Groups with auto_revert go back to the last stable version.\n\nNeeds the capability ' +
    'submit-job.',
  flags: [DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <deployment>' },
  run: (call) =>
    changeDeployment(call, {
      path: 'fail',
      doing: 'failing deployment',
      body: (DeploymentID) => ({ DeploymentID }),
      done: (id, { RevertedJobVersion: version }) =>
        `Deployment "${id}" failed${version === null ? '' : `. Auto-reverted to job version ${version}.`}`,
    }),
};
