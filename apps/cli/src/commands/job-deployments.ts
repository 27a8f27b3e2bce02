import type { Deployment } from '@waybill/model';
import type { Answer } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { deploymentBlock } from '../deployments/deployment-block.js';
import { deploymentList } from '../deployments/deployment-table.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Lists the deployments of a job, or shows the latest one (CL-358). */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Lists the deployments of a job.\n\nNeeds the capability read-job; list-jobs for a prefix.',
  flags: [
    { name: 'all', kind: 'switch', help: 'Include those of earlier jobs with this ID.' },
    ...DATA_FLAGS,
    { name: 'latest', kind: 'switch', help: 'Only the latest one, with its groups.' },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async (call) => {
    const { flags, terminal } = call;
    const found = await resolveJob(call.api, call.args[0] ?? '');
    const api = call.api.within({ namespace: found.namespace });
    const display = Display.of(call);
    if (flags.on('latest')) {
      const latest = await readDeployments<Deployment | null>(api, jobPath(found.id, '/deployment'));
      const text = latest.value
        ? await deploymentBlock(api, latest.value, display, (title) => terminal.bold(title))
        : 'No deployment found';
      if (call.data) call.data(latest.exact);
      else terminal.print(text);
      return 0;
    }
    const all = await readDeployments<Deployment[] | null>(api, jobPath(found.id, '/deployments'), {
      all: flags.on('all'),
    });
    if (call.data) call.data(all.exact);
    else terminal.print(deploymentList(all.value ?? [], display));
    return 0;
  },
};

/** @throws CommandFailure */
function readDeployments<T>(api: Call['api'], path: string, query = {}): Promise<Answer<T>> {
  return api.get<T>(path, query).catch((error: unknown) => {
    throw failed('retrieving deployments', error);
  });
}
