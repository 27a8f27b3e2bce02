import type { Deployment } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { writeDeployment } from '../deployments/deployment-change.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import { GROUP_FLAG, promotion } from '../jobs/promotion.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Promotes the canaries of a job's latest deployment (CL-339). */
export const command: ServerCommand = {
  usage: '<job>',
  description:
    "Promotes the canaries of a job's latest deployment, so that the remaining allocations are rolled " +
    'out.\n\nNeeds the capability submit-job.',
  flags: [GROUP_FLAG, DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async (call) => {
    const found = await resolveJob(call.api, call.args[0] ?? '');
    const api = call.api.within({ namespace: found.namespace });
    const { value: deployment } = await api
      .get<Deployment | null>(jobPath(found.id, '/deployment'))
      .catch((error: unknown) => {
        throw failed(`retrieving deployment of job "${found.id}"`, error);
      });
    if (!deployment) throw new CommandFailure(`Job "${found.id}" has no deployment to promote`);
    const doing = `promoting deployment "${deployment.ID}" for job "${found.id}"`;
    return writeDeployment(call, deployment, promotion(call.flags, doing));
  },
};
