import { decodeJob, formatErrors, formatWarnings, validateJob } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { ServerCommand } from '../command-spec.js';
import { formatExact } from '../terminal/exact-json.js';
import { isInterrupt } from '../failure.js';
import { placedFaults, type Validation } from '../jobs/config-faults.js';
import type { JobFile } from '../jobs/job-file.js';
import { apiOf, JOB_INPUT_FLAGS, readJobInput } from '../jobs/job-input.js';
import { printJobWarnings } from '../jobs/job-warnings.js';

/** Validates a job file at the server, and on the client if that call fails (CL-356). */
export const command: ServerCommand = {
  usage: '<path>',
  alias: 'validate',
  description:
    'Validates a job file without registering it. <path> is a job file, an http:// or https:// URL, or "-" for ' +
    'stdin. Without a server, the command validates the file itself.',
  flags: JOB_INPUT_FLAGS,
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <path>' },
  run: async (call) => {
    const { terminal } = call;
    const file = await readJobInput(call);
    const found = await validated(apiOf(call.api, file), file);
    if (!found.DriverConfigValidated)
      terminal.warn("Driver configuration not validated since connection to Waybill agent couldn't be established.\n");
    if (found.Error !== '') {
      terminal.error(`Job validation errors:\n${found.Error}${await placedFaults(file, found)}`);
      return 1;
    }
    printJobWarnings(terminal, found.Warnings);
    terminal.print('Job validation successful');
    return 0;
  },
};

async function validated(api: ApiClient, { job }: JobFile): Promise<Validation> {
  try {
    return (await api.put<Validation>('/v1/validate/job', { Job: job })).value;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    const { errors, warnings } = validateJob(decodeJob(JSON.parse(formatExact(job))));
    return { DriverConfigValidated: false, Error: formatErrors(errors), Warnings: formatWarnings(warnings) };
  }
}
