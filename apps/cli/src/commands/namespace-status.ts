import type { Namespace } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { resolveNamespace } from '../namespace.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { keyValues } from '../terminal/table.js';

/** Shows a namespace and its limits (CL-832). */
export const command: ServerCommand = {
  usage: '<namespace>',
  description: 'Shows a namespace and its limits.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <namespace>' },
  async run(call) {
    const { terminal, data } = call;
    const { value, exact } = await resolveNamespace(call, call.args[0] ?? '');
    if (data) {
      data(exact);
      return 0;
    }
    terminal.print(namespaceList(value));
    const section = (title: string, rows: readonly (readonly [string, string])[]) => {
      terminal.section(title);
      terminal.print(keyValues(rows));
    };
    const meta = sortedEntries(value.Meta ?? {});
    if (meta.length > 0) section('Metadata', meta);
    if (value.NodePoolConfiguration) section('Node Pool Configuration', permissions(value.NodePoolConfiguration));
    if (value.VaultConfiguration) section('Vault Configuration', permissions(value.VaultConfiguration));
    if (value.ConsulConfiguration) section('Consul Configuration', permissions(value.ConsulConfiguration));
    return 0;
  },
};

function namespaceList({ Name, Description, Quota, Capabilities }: Namespace): string {
  const list = (names: readonly string[] | null | undefined, none: string) => (names ?? []).join(',') || none;
  return keyValues([
    ['Name', Name],
    ['Description', Description],
    ['Quota', Quota],
    ['Enabled Drivers', list(Capabilities?.EnabledTaskDrivers, '*')],
    ['Disabled Drivers', list(Capabilities?.DisabledTaskDrivers, '')],
    ['Enabled Network Modes', list(Capabilities?.EnabledNetworkModes, '*')],
    ['Disabled Network Modes', list(Capabilities?.DisabledNetworkModes, '')],
  ]);
}

interface Permissions {
  readonly Default?: string;
  readonly Allowed?: readonly string[] | null;
  readonly Denied?: readonly string[] | null;
}

const permissions = ({ Default = '', Allowed, Denied }: Permissions): [string, string][] => [
  ['Default', Default],
  ['Allowed', (Allowed ?? []).join(', ')],
  ['Denied', (Denied ?? []).join(', ')],
];
