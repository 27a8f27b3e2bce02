import type { Namespace } from '@waybill/model';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { JSON_FLAG } from '../display.js';
import { formatExact } from '../exact-json.js';
import { failed } from '../failure.js';
import { namespaceTable } from '../namespace.js';

/** CL-831. The server answers them by name. */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows the namespaces.',
  flags: [JSON_FLAG],
  takes: NO_ARGUMENTS,
  async run({ api, flags, terminal }) {
    const answer = await api.get<Namespace[] | null>('/v1/namespaces').catch((error: unknown) => {
      throw failed('retrieving namespaces', error);
    });
    terminal.print(flags.on('json') ? formatExact(answer.exact) : namespaceTable(answer.value ?? []));
    return 0;
  },
};
