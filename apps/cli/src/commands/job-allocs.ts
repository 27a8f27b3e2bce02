import type { AllocListStub, Job } from '@waybill/model';
import { allocationTable, ofJob } from '../allocations/allocation-table.js';
import type { ApiClient } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import type { ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed, isInterrupt } from '../failure.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Lists the allocations of a job (CL-357). */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Lists the allocations of a job.\n\nNeeds the capability read-job; list-jobs for a prefix.',
  flags: [
    { name: 'all', kind: 'switch', help: 'Include those of earlier jobs with this ID.' },
    ...DATA_FLAGS,
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async (call) => {
    const { flags, terminal } = call;
    const found = await resolveJob(call.api, call.args[0] ?? '');
    const api = call.api.within({ namespace: found.namespace });
    const answer = await api
      .get<AllocListStub[] | null>(jobPath(found.id, '/allocations'), { all: flags.on('all') })
      .catch((error: unknown) => {
        throw failed('retrieving allocations', error);
      });
    if (call.data) call.data(answer.exact);
    else terminal.print(allocationTable(ofJob(answer.value ?? [], await jobOf(api, found.id)), Display.of(call)));
    return 0;
  },
};

/**
 * Reads the job for the column of deadlines, which is left out if the job cannot be read. @throws CommandFailure if
 * access is denied
 */
async function jobOf(api: ApiClient, id: string): Promise<Job | null> {
  try {
    return (await api.get<Job>(jobPath(id))).value;
  } catch (error) {
    if (isInterrupt(error) || (error instanceof AnswerFailure && error.status === 403))
      throw failed('querying job', error);
    return null;
  }
}
