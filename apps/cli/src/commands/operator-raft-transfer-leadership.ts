import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { ArgumentFailure, failed } from '../failure.js';

interface Transfer {
  readonly To: { readonly ID: string; readonly Address: string };
  readonly Noop: boolean;
}

/** Requests a transfer of leadership to exactly one given peer (CL-809, OP-62). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Requests that a server becomes the leader. Waybill refuses, because it has no leader: each role has its own ' +
    'lease.\n\nNeeds a management token.',
  flags: [
    { name: 'peer-id', kind: 'text', value: 'id', help: 'ID of the peer, from operator raft list-peers.' },
    { name: 'peer-address', kind: 'text', value: 'ip:port', help: 'Address of the peer, instead of its ID.' },
  ],
  takes: NO_ARGUMENTS,
  async run({ api, flags, terminal }) {
    const [id, address] = [flags.text('peer-id'), flags.text('peer-address')];
    if ((id === undefined) === (address === undefined))
      throw new ArgumentFailure('Exactly one of -peer-id and -peer-address must be set');
    const { value } = await api
      .put<Transfer>('/v1/operator/raft/transfer-leadership', null, { id, address })
      .catch((error: unknown) => {
        throw failed('transferring leadership', error);
      });
    terminal.print(`${value.Noop ? 'Leads already' : 'Leads now'}: ${value.To.ID} (${value.To.Address})`);
    return 0;
  },
};
