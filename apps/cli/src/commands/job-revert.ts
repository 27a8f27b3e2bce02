import type { ApiClient } from '../server/api-client.js';
import type { ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { CommandFailure, failed } from '../failure.js';
import { jobVersions } from '../jobs/job-versions.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Registers a former version of a job, given by number or tag, and follows the evaluation (CL-336). */
export const command: ServerCommand = {
  usage: '<job> <version|tag>',
  description:
    'Registers a former version of a job as a new version, and watches the evaluation.\n\nNeeds the capability ' +
    'submit-job.',
  flags: [DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 2, max: 2, otherwise: 'This command takes two arguments: <job> <version|tag>' },
  run: async (call) => {
    const { args, flags, terminal } = call;
    const found = await resolveJob(call.api, args[0] ?? '');
    const api = call.api.within({ namespace: found.namespace });
    const body = { JobID: found.id, JobVersion: await versionOf(api, found.id, args[1] ?? '') };
    const { value } = await api
      .put<{ readonly EvalID: string }>(jobPath(found.id, '/revert'), body)
      .catch((error: unknown) => {
        throw failed('retrieving job versions', error);
      });
    if (value.EvalID === '') return 0;
    if (!flags.on('detach')) return new EvaluationMonitor({ ...call, api }).follow(value.EvalID);
    terminal.print(`Evaluation ID: ${value.EvalID}`);
    return 0;
  },
};

async function versionOf(api: ApiClient, id: string, given: string): Promise<number> {
  if (/^\d{1,15}$/.test(given)) return Number(given);
  const { value } = await jobVersions(api, id);
  const tagged = (value.Versions ?? []).find((version) => version.VersionTag?.Name === given);
  if (!tagged) throw new CommandFailure(`Error retrieving job versions: version tag ${given} not found for job ${id}`);
  return tagged.Version;
}
