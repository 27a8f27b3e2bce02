import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { ArgumentFailure, failed } from '../failure.js';

/** Removes a server from the list of peers (CL-809, OP-61). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Removes a server that is gone from the list. Only servers that answer are listed, so there is seldom one to ' +
    'remove.\n\nNeeds a management token.',
  flags: [{ name: 'peer-id', kind: 'text', value: 'id', help: 'ID of the peer, from operator raft list-peers.' }],
  takes: NO_ARGUMENTS,
  async run({ api, flags, terminal }) {
    const id = flags.text('peer-id');
    if (id === undefined) throw new ArgumentFailure('Missing peer id required');
    await api.delete('/v1/operator/raft/peer', { id }).catch((error: unknown) => {
      throw failed('removing raft peer', error);
    });
    terminal.print(`Removed peer with id "${id}"`);
    return 0;
  },
};
