import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Requests that a failed server is removed (CL-931, OP-77). */
export const command: ServerCommand = {
  usage: '<server>',
  description:
    'Requests that a failed server is removed from the list. Waybill keeps no such list, so this changes ' +
    'nothing.\n\nNeeds the capability agent:write.',
  flags: [{ name: 'prune', kind: 'switch', help: 'Remove the server from the list of members at once.' }],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <server>' },
  async run({ api, args, flags }) {
    const [node = ''] = args;
    await api
      .put('/v1/agent/force-leave', null, { node, prune: flags.on('prune') || undefined })
      .catch((error: unknown) => {
        throw failed(`force-leaving server ${node}`, error);
      });
    return 0;
  },
};
