import type { Deployment } from '@waybill/model';
import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { deploymentList } from '../deployments/deployment-table.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';

/** Lists the deployments (CL-601). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists deployments, oldest first.\n\nNeeds the capability read-job.',
  flags: [
    { name: 'filter', kind: 'text', value: 'expression', help: 'Only matching deployments.' },
    ...DATA_FLAGS,
    VERBOSE_FLAG,
  ],
  takes: NO_ARGUMENTS,
  run: (call) => listDeployments(call, call.flags.text('filter')),
};

export async function listDeployments(call: Call, filter?: string): Promise<number> {
  const { api, terminal } = call;
  const answer = await api.get<Deployment[] | null>('/v1/deployments', { filter }).catch((error: unknown) => {
    throw failed('retrieving deployments', error);
  });
  if (call.data) call.data(answer.exact);
  else terminal.print(deploymentList(answer.value ?? [], Display.of(call)));
  return 0;
}
