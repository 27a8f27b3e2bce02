import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';

/** Prints the metrics as the API returns them (CL-806). */
export const command: ServerCommand = {
  usage: '',
  description: 'Prints the metrics of the servers.\n\nNeeds the capability agent:read.',
  flags: [
    { name: 'format', kind: 'text', value: 'prometheus', help: 'Print the text format of Prometheus.' },
    { name: 'pretty', kind: 'switch', help: 'JSON over several lines.' },
    ...DATA_FLAGS,
  ],
  takes: NO_ARGUMENTS,
  run,
};

async function run(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  const getting = (error: unknown): never => {
    throw failed('getting metrics', error);
  };
  if (call.data) call.data((await api.get('/v1/metrics').catch(getting)).exact);
  else {
    const query = { format: flags.text('format'), pretty: flags.on('pretty') || undefined };
    const { body } = await api.stream('/v1/metrics', query).catch(getting);
    for await (const chunk of body) await terminal.bytes(chunk);
  }
  return 0;
}
