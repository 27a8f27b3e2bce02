import type { Namespace } from '@waybill/model';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { namespaceTable } from '../namespace.js';

/** Lists namespaces in the server's order, by name (CL-831). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the namespaces.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run(call) {
    const { api, terminal } = call;
    const answer = await api.get<Namespace[] | null>('/v1/namespaces').catch((error: unknown) => {
      throw failed('retrieving namespaces', error);
    });
    if (call.data) call.data(answer.exact);
    else terminal.print(namespaceTable(answer.value ?? []));
    return 0;
  },
};
