import type { Call, ServerCommand } from '../command-spec.js';
import { ArgumentFailure, CommandFailure, failed } from '../failure.js';

/** Longest list of servers. */
const MAX_SERVERS = 1_000;
const NO_ADDRESS = "If the '-update-servers' flag is set, at least one server argument must be provided";

export const command: ServerCommand = {
  usage: '[<address>...]',
  description:
    'Shows or sets the list of servers of the agent at the address. Agents of Waybill find their servers over ' +
    'NATS and have no such list. The command is for other agents.\n\nNeeds the capabilities agent:read and ' +
    'agent:write.',
  flags: [
    { name: 'servers', kind: 'switch', help: 'Show the servers, one address per line.' },
    { name: 'update-servers', kind: 'switch', help: 'Replace the list by the arguments.' },
  ],
  takes: { min: 0, max: MAX_SERVERS, otherwise: `This command takes at most ${MAX_SERVERS} addresses` },
  run,
};

/** Prints or replaces the server addresses of an agent (CL-522). */
async function run(call: Call): Promise<number> {
  const { api, flags, args, terminal } = call;
  if (flags.on('servers')) {
    const { value } = await api.get<string[] | null>('/v1/agent/servers').catch((error: unknown) => {
      throw failed('querying server list', error);
    });
    for (const address of value ?? []) terminal.print(address);
    return 0;
  }
  if (!flags.on('update-servers')) throw new ArgumentFailure("The '-servers' or '-update-servers' flag(s) must be set");
  if (args.length === 0) throw new CommandFailure(NO_ADDRESS);
  await api.put('/v1/agent/servers', null, { address: args }).catch((error: unknown) => {
    throw failed('updating server list', error);
  });
  terminal.print('Updated server list');
  return 0;
}
