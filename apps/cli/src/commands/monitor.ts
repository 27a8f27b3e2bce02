import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed, isInterrupt } from '../failure.js';
import { logOfAgent } from '../agent/agent-log.js';
import { NODE_ID_FLAG, namedNodeId } from '../nodes/resolve-node.js';

/** Follows the log of an agent until Ctrl-C (CL-906). */
export const command: ServerCommand = {
  usage: '',
  description: 'Follows the log of a server or node.\n\nNeeds the capability agent:read.',
  flags: [
    { name: 'log-level', kind: 'text', value: 'level', help: 'trace, debug, info (the default), warn or error.' },
    { name: 'log-include-location', kind: 'switch', help: 'Show where in the code a line comes from.' },
    NODE_ID_FLAG,
    { name: 'server-id', kind: 'text', value: 'name', help: 'Name of the server whose log is read, or leader.' },
    { name: 'json', kind: 'switch', help: 'The lines as JSON.' },
  ],
  takes: NO_ARGUMENTS,
  run: async (call) => {
    const { api, flags, terminal } = call;
    const query = {
      log_level: flags.text('log-level'),
      log_json: flags.on('json') || undefined,
      log_include_location: flags.on('log-include-location') || undefined,
      node_id: await namedNodeId(call),
      server_id: flags.text('server-id'),
    };
    try {
      for await (const lines of logOfAgent(api, query)) await terminal.bytes(lines);
    } catch (error) {
      if (!isInterrupt(error)) throw failed('starting monitor', error);
    }
    return 0;
  },
};
