import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { NO_SERVICES } from '../service-table.js';
import { table } from '../terminal/table.js';

export const command: ServerCommand = {
  usage: '',
  description: 'Lists the registered services.',
  flags: [{ name: 'name', kind: 'switch', help: 'Print the names only.' }, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run,
};

interface NamespaceServices {
  readonly Namespace: string;
  readonly Services: readonly { readonly ServiceName: string; readonly Tags: readonly string[] | null }[];
}

/** Lists the services, sorted by name (CL-861). */
async function run(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  const answer = await api.get<NamespaceServices[]>('/v1/services').catch((error: unknown) => {
    throw failed('listing service registrations', error);
  });
  const services = answer.value
    .flatMap(({ Namespace, Services }) => Services.map((service) => ({ Namespace, ...service })))
    .toSorted((a, b) => (a.ServiceName < b.ServiceName ? -1 : a.ServiceName > b.ServiceName ? 1 : 0));
  const all = api.connection.namespace === '*';
  const namespaced = (cell: string): string[] => (all ? [cell] : []);
  const rows = services.map(({ ServiceName, Namespace, Tags }) => [
    ServiceName,
    ...namespaced(Namespace),
    `[${(Tags ?? []).join(',')}]`,
  ]);
  if (call.data) call.data(answer.exact);
  else if (services.length === 0) terminal.print(NO_SERVICES);
  else if (flags.on('name')) terminal.print(services.map(({ ServiceName }) => ServiceName).join('\n'));
  else terminal.print(table([['Service Name', ...namespaced('Namespace'), 'Tags'], ...rows]));
  return 0;
}
