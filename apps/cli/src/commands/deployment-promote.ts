import type { ServerCommand } from '../command-spec.js';
import { changeDeployment } from '../deployments/deployment-change.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { GROUP_FLAG, promotion } from '../jobs/promotion.js';

/** Promotes the canaries of a deployment, given by its ID (CL-604, CL-605). */
export const command: ServerCommand = {
  usage: '<deployment>',
  description:
    'Promotes the canaries of a deployment, so that the remaining allocations are rolled out.\n\nNeeds the ' +
    'capability submit-job.',
  flags: [GROUP_FLAG, DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <deployment>' },
  run: (call) => changeDeployment(call, promotion(call.flags, 'promoting deployment')),
};
