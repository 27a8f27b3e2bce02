import type { ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';

interface Joined {
  readonly num_joined: number;
  /** Empty if all servers joined. */
  readonly error: string;
}

/** Requests that servers join, and prints the number that did (CL-931, OP-76). */
export const command: ServerCommand = {
  usage: '<address> [<address>…]',
  description:
    'Requests that the server joins others. Servers of Waybill with the same NATS and PostgreSQL already belong ' +
    'together: the address of a member counts as joined, and any other is refused.\n\nNeeds the capability ' +
    'agent:write.',
  flags: [],
  takes: {
    min: 1,
    max: Number.POSITIVE_INFINITY,
    otherwise: 'This command takes at least one argument: <address> [<address>…]',
  },
  async run({ api, args, terminal }) {
    const { value } = await api.put<Joined>('/v1/agent/join', null, { address: args }).catch((error: unknown) => {
      throw failed('joining', error);
    });
    if (value.error !== '') throw new CommandFailure(`Error joining: ${value.error}`);
    terminal.print(`Joined ${value.num_joined} servers successfully`);
    return 0;
  },
};
