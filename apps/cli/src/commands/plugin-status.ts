import type { AllocListStub, CSIPlugin } from '@waybill/model';
import { allocationTable } from '../allocations/allocation-table.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import { controllerCapabilities, nodeCapabilities, topologyTable } from '../volumes/plugin-capabilities.js';
import { pluginMeant, plugins, pluginTable } from '../volumes/plugin-stub.js';
import { keyValues } from '../terminal/table.js';

/** A plugin in a response of the API. The allocations are null if the caller may not read jobs (VL-203). */
type PluginAnswer = CSIPlugin & { readonly Allocations?: readonly AllocListStub[] | null };

/** Lists the CSI plugins, or shows one (CL-721, CL-722). */
export const command: ServerCommand = {
  usage: '[<plugin>]',
  description: 'Lists the storage plugins, or shows one.\n\nNeeds the plugin policy list, or read for one.',
  flags: [
    { name: 'type', kind: 'text', value: 'csi', help: 'Kind of the plugins (csi).' },
    { name: 'short', kind: 'switch', help: 'Leave out the allocations.' },
    VERBOSE_FLAG,
    ...DATA_FLAGS,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <plugin>' },
  run: (call) => {
    const type = call.flags.text('type') ?? 'csi';
    if (type !== 'csi') throw new CommandFailure(`Unsupported plugin type: ${type}`);
    const [given] = call.args;
    return given === undefined ? list(call) : one(call, given);
  },
};

async function list({ api, data, terminal }: Call): Promise<number> {
  if (data) {
    const { exact } = await api.get('/v1/plugins', { type: 'csi' }).catch((error: unknown) => {
      throw failed('querying CSI plugins', error);
    });
    data(exact);
    return 0;
  }
  const found = await plugins(api, '');
  terminal.print(terminal.bold('Container Storage Interface'));
  terminal.print(found.length === 0 ? 'No CSI plugins' : pluginTable(found));
  return 0;
}

async function one(call: Call, given: string): Promise<number> {
  const { api, data, flags, terminal } = call;
  const meant = await pluginMeant(api, given);
  if (!meant) throw new CommandFailure(`no plugins with prefix or ID "${given}" found`);
  const path = `/v1/plugin/csi/${encodeURIComponent(meant.ID)}`;
  const { exact, value: plugin } = await api.get<PluginAnswer>(path).catch((error: unknown) => {
    throw failed('querying CSI plugin', error);
  });
  if (data) {
    data(exact);
    return 0;
  }
  terminal.print(
    keyValues([
      ['ID', plugin.ID],
      ['Provider', plugin.Provider],
      ['Version', plugin.Version],
      ['Controllers Healthy', String(plugin.ControllersHealthy)],
      ['Controllers Expected', String(plugin.ControllersExpected)],
      ['Nodes Healthy', String(plugin.NodesHealthy)],
      ['Nodes Expected', String(plugin.NodesExpected)],
    ]),
  );
  if (flags.on('short')) return 0;
  const display = Display.of(call);
  if (display.verbose) showCapabilities(call, plugin, display);
  terminal.section('Allocations');
  terminal.print(allocationTable(plugin.Allocations ?? [], display));
  return 0;
}

/** Prints the capabilities that nodes and controllers of a plugin report, and its topologies (CL-722). */
function showCapabilities({ terminal }: Call, plugin: PluginAnswer, display: Display): void {
  for (const [title, names] of [
    ['Controller Capabilities', controllerCapabilities(plugin)],
    ['Node Capabilities', nodeCapabilities(plugin)],
  ] as const) {
    terminal.section(title);
    for (const name of names) terminal.print(`  ${name}`);
  }
  terminal.section('Accessible Topologies');
  terminal.print(topologyTable(plugin, (id) => display.id(id)));
}
