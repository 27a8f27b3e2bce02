import { parseDuration } from '@waybill/model/duration';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Creates an introduction token for new nodes (AU-305). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Creates a token by which a new node registers, and prints it. Put it into intro_token.jwt in the directory of ' +
    'the agent, or into WAYBILL_CLIENT_INTRO_TOKEN. With -node-name it is good for one node, otherwise for any number ' +
    'of nodes of the pool until it expires.\n\nNeeds the capability node:write.',
  flags: [
    { name: 'node-name', kind: 'text', value: 'name', help: 'Only for a node with this name.' },
    { name: 'node-pool', kind: 'text', value: 'pool', help: 'Pool of the node (default "default").' },
    { name: 'ttl', kind: 'text', value: 'duration', help: 'Life of the token, such as 10m (default: of the servers).' },
    ...DATA_FLAGS,
  ],
  takes: NO_ARGUMENTS,
  async run({ api, flags, data, terminal }) {
    const TTL = flags.text('ttl') ?? '';
    if (TTL !== '' && parseDuration(TTL) === undefined)
      throw new CommandFailure(`Error parsing TTL: time: invalid duration ${JSON.stringify(TTL)}`);
    const NodeName = flags.text('node-name') ?? '';
    const NodePool = flags.text('node-pool') ?? '';
    const answer = await api
      .put<{ JWT: string }>('/v1/acl/identity/client-introduction-token', { NodeName, NodePool, TTL })
      .catch((error: unknown) => {
        throw failed('generating introduction token', error);
      });
    if (data) {
      data(answer.exact);
      return 0;
    }
    terminal.print(`Successfully generated client introduction token:\n\n${answer.value.JWT}`);
    return 0;
  },
};
