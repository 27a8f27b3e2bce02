import type { WireCSIVolume } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { printCSIVolume } from '../volumes/csi-volume-sections.js';
import { csiVolumePath, csiVolumes, csiVolumeTable, meantOf } from '../volumes/csi-volume-stub.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { printExternalVolumes } from '../volumes/external-volumes.js';
import { CommandFailure, failed } from '../failure.js';
import {
  type HostVolumeAnswer,
  hostVolumePath,
  hostVolumes,
  hostVolumeTable,
  meantHostVolume,
  printHostVolume,
} from '../volumes/host-volume-text.js';

/** Lists the volumes of one or both kinds, or shows one volume (CL-701 to CL-705). */
export const command: ServerCommand = {
  usage: '[<volume>]',
  description: 'Lists the volumes, or shows one.\n\nNeeds the capability csi-list-volume, or csi-read-volume for one.',
  flags: [
    { name: 'type', kind: 'text', value: 'csi|host', help: 'Only volumes of this kind.' },
    { name: 'short', kind: 'switch', help: 'Leave out capabilities and allocations.' },
    { name: 'node', kind: 'text', value: 'id', help: 'Only host volumes of this node.' },
    { name: 'node-pool', kind: 'text', value: 'name', help: 'Only host volumes of this pool.' },
    VERBOSE_FLAG,
    ...DATA_FLAGS,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <id>' },
  run: (call) => {
    const { flags, args } = call;
    const type = flags.text('type');
    if (type !== undefined && type !== 'csi' && type !== 'host')
      throw new CommandFailure(`No such volume type "${type}"`);
    const onNode = flags.given('node') || flags.given('node-pool');
    if (onNode && type === 'csi') throw new CommandFailure('-node and -node-pool can only be used with -type host');
    const [given] = args;
    if (onNode && given !== undefined)
      throw new CommandFailure('-node or -node-pool options can only be used when no ID is provided');
    return given === undefined ? list(call, type) : one(call, type, given);
  },
};

type VolumeType = 'csi' | 'host' | undefined;

async function list(call: Call, type: VolumeType): Promise<number> {
  const { api, data, flags, terminal } = call;
  const display = Display.of(call);
  if (data) {
    data(await asData(call, type));
    return 0;
  }
  if (type !== 'csi') {
    const volumes = await hostVolumes(call, '', ofPlace(call));
    terminal.print(terminal.bold('Dynamic Host Volumes'));
    if (volumes.value.length > 0) terminal.print(hostVolumeTable(volumes.value, display));
    else terminal.error('No dynamic host volumes');
  }
  if (type === undefined) terminal.print('');
  if (type === 'host') return 0;
  const volumes = await csiVolumes(call, '');
  terminal.print(terminal.bold('Container Storage Interface'));
  if (volumes.length > 0) terminal.print(csiVolumeTable(volumes));
  else terminal.error('No CSI volumes');
  if (!flags.on('verbose')) return 0;
  const failures = await printExternalVolumes(api, terminal, (id) => display.id(id));
  if (failures.length > 0) throw new CommandFailure(`Error querying CSI external volumes: ${failures.join(', ')}`);
  return 0;
}

/** Returns the volumes as one document, for one or both kinds (CL-701). */
async function asData(call: Call, type: VolumeType): Promise<ExactJson> {
  const [host, csi] = await Promise.all([
    type === 'csi' ? undefined : hostVolumes(call, '', ofPlace(call)),
    type === 'host' ? undefined : call.api.get('/v1/volumes', { type: 'csi' }),
  ]).catch((error: unknown) => {
    throw failed('querying volumes', error);
  });
  if (host && csi) return { HostVolumes: host.exact, CSIVolumes: csi.exact };
  return (host ?? csi)?.exact ?? [];
}

/** Returns the query for the node and the pool of the flags. */
const ofPlace = ({ flags }: Call) => ({ node_id: flags.text('node'), node_pool: flags.text('node-pool') });

/** Shows one volume. A host volume precedes a CSI volume with that name (CL-703). */
async function one(call: Call, type: VolumeType, given: string): Promise<number> {
  const missing: string[] = [];
  if (type !== 'csi') {
    const meant = await meantHostVolume(call, given);
    if (meant) return await show(call, hostVolumePath(meant.ID), meant.Namespace, printHostVolumeAnswer);
    missing.push(`no host volumes with prefix or ID "${given}" found`);
  }
  if (type !== 'host') {
    const meant = meantOf(await csiVolumes(call, given), given);
    if (meant) return await show(call, csiVolumePath(meant.ID), meant.Namespace, printCSIVolumeAnswer);
    missing.push(`no volumes with prefix or ID "${given}" found`);
  }
  throw new CommandFailure(missing.join('\n'));
}

async function show<T>(
  call: Call,
  path: string,
  namespace: string,
  print: (call: Call, volume: T, short: boolean) => void,
): Promise<number> {
  const { value, exact } = await call.api
    .within({ namespace })
    .get<T>(path)
    .catch((error: unknown) => {
      throw failed('querying volume', error);
    });
  if (call.data) call.data(exact);
  else print(call, value, call.flags.on('short'));
  return 0;
}

const printHostVolumeAnswer = (call: Call, volume: HostVolumeAnswer, short: boolean): void =>
  printHostVolume(call, volume, short);
const printCSIVolumeAnswer = (call: Call, volume: WireCSIVolume, short: boolean): void =>
  printCSIVolume(call, volume, short);
