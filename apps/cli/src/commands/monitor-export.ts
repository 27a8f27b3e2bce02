import { logOfAgent } from '../agent/agent-log.js';
import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { NODE_ID_FLAG, namedNodeId } from '../nodes/resolve-node.js';

/** Prints stored log lines of an agent (OP-84). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Prints the stored log of a server or node. Parts of Waybill write to standard output and store nothing. ' +
    'Such a server refuses and says where its log is; `monitor` shows new lines.\n\nNeeds the capability ' +
    'agent:read.',
  flags: [
    { name: 'follow', kind: 'switch', help: 'Follow new lines.' },
    { name: 'logs-since', kind: 'text', value: 'duration', help: 'With -service-name: only newer lines.' },
    NODE_ID_FLAG,
    { name: 'on-disk', kind: 'switch', help: 'The log file of the agent.' },
    { name: 'server-id', kind: 'text', value: 'name', help: 'Name of the server whose log is read, or leader.' },
    { name: 'service-name', kind: 'text', value: 'unit', help: 'Lines of this unit in journald.' },
  ],
  takes: NO_ARGUMENTS,
  run,
};

async function run(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  const [unit, server] = [flags.text('service-name'), flags.text('server-id')];
  if (flags.given(NODE_ID_FLAG.name) && server !== undefined)
    throw new CommandFailure('Cannot target node and server simultaneously');
  const query = {
    follow: flags.on('follow') || undefined,
    logs_since: flags.text('logs-since'),
    node_id: await namedNodeId(call),
    on_disk: flags.on('on-disk') || undefined,
    server_id: server,
    service_name: unit,
  };
  try {
    for await (const lines of logOfAgent(api, query, '/v1/agent/monitor/export')) await terminal.bytes(lines);
  } catch (error) {
    throw failed('exporting the log', error);
  }
  return 0;
}
