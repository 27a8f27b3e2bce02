import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { ArgumentFailure, failed } from '../failure.js';

/** Removes a server from the list of peers (CL-809, OP-61). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Forgets a server that is gone. Only those that answer are known, so there is seldom one.\n\nNeeds a management token.',
  flags: [{ name: 'peer-id', kind: 'text', value: 'id', help: 'Its ID, as operator raft list-peers shows it.' }],
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
