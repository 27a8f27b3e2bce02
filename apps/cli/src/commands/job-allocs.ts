import type { AllocListStub } from '@waybill/model';
import { allocationTable } from '../allocation-table.js';
import type { ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../display.js';
import { DATA_FLAGS } from '../data-printer.js';
import { failed } from '../failure.js';
import { jobPath, resolveJob } from '../resolve-job.js';

/** CL-357. */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Shows the allocations of a job.\n\nNeeds the capability read-job; list-jobs for a prefix.',
  flags: [{ name: 'all', kind: 'switch', help: 'Those of earlier jobs of this ID too.' }, ...DATA_FLAGS, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async (call) => {
    const { flags, terminal } = call;
    const found = await resolveJob(call.api, call.args[0] ?? '');
    const answer = await call.api
      .within({ namespace: found.namespace })
      .get<AllocListStub[] | null>(jobPath(found.id, '/allocations'), { all: flags.on('all') })
      .catch((error: unknown) => {
        throw failed('retrieving allocations', error);
      });
    if (call.data) call.data(answer.exact);
    else terminal.print(allocationTable(answer.value ?? [], Display.of(call)));
    return 0;
  },
};
