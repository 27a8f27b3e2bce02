import type { WireCSIVolume } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { csiVolumePath } from './csi-volume-stub.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import { untilReady } from './host-volume-monitor.js';
import { type HostVolumeStub, resolveHostVolume } from './host-volume-text.js';
import { textMember } from '../jobs/job-file.js';
import { type GivenVolume, readVolumeFile } from './volume-file.js';

export type VolumeOperation = 'create' | 'register';

interface Written {
  readonly Warnings?: string;
}

const DOING = { create: 'creating volume', register: 'registering volume' } as const;

export const VOLUME_FILE_ARGUMENT = { min: 1, max: 1, otherwise: 'This command takes one argument: <input>' } as const;

const REGISTER_FLAGS = [
  { name: 'id', kind: 'text', value: 'prefix', help: 'ID of the host volume to change instead of creating one.' },
  { name: 'policy-override', kind: 'switch', help: 'Accepted for scripts; has no effect.' },
] as const;
export const VOLUME_FILE_FLAGS = {
  register: REGISTER_FLAGS,
  create: [...REGISTER_FLAGS, DETACH_FLAG, VERBOSE_FLAG],
} as const;

/**
 * Submits the volume of a file and prints the result (CL-707, CL-708). Resolves with the exit code. @throws
 * CommandFailure
 */
export async function submitVolume(call: Call, operation: VolumeOperation): Promise<number> {
  const { type, volume } = await readVolumeFile(call.args[0] ?? '');
  return type === 'host' ? submitHostVolume(call, operation, volume) : submitCSIVolume(call, operation, volume);
}

async function submitCSIVolume(call: Call, operation: VolumeOperation, volume: GivenVolume): Promise<number> {
  const path = csiVolumePath(textMember(volume, 'ID') ?? '') + (operation === 'create' ? '/create' : '');
  const wanted = { Volumes: [volume] };
  const { Volumes } = await sent<{ Volumes: readonly WireCSIVolume[] | null }>(call, operation, path, wanted);
  for (const { ID, ExternalID } of Volumes ?? [])
    call.terminal.print(
      operation === 'create' ? `Created external volume ${ExternalID} with ID ${ID}` : `Volume "${ID}" registered`,
    );
  return 0;
}

async function submitHostVolume(call: Call, operation: VolumeOperation, given: GivenVolume): Promise<number> {
  const { flags, terminal } = call;
  const named = flags.text('id');
  const volume = named === undefined ? given : { ...given, ID: (await resolveHostVolume(call, named)).ID };
  if (operation === 'register' && textMember(volume, 'NodeID') === undefined)
    throw new CommandFailure('Node ID is required for registering');
  const wanted = { Volume: volume };
  const answer = await sent<{ Volume: HostVolumeStub }>(call, operation, `/v1/volume/host/${operation}`, wanted);
  const { ID, Name, State } = answer.Volume;
  const said = `${operation === 'create' ? 'Created' : 'Registered'} host volume ${Name} with ID ${ID}`;
  if (operation === 'register' || flags.on('detach') || State === 'ready') {
    terminal.print(said);
    return 0;
  }
  terminal.print(`==> ${said}`);
  return untilReady(call, answer.Volume);
}

async function sent<T>({ api, terminal }: Call, operation: VolumeOperation, path: string, body: ExactJson): Promise<T> {
  const { value } = await api.put<T & Written>(path, body).catch((error: unknown) => {
    throw failed(DOING[operation], error);
  });
  if (value.Warnings) terminal.print(`${terminal.boldYellow('Volume Warnings:')}\n${value.Warnings}\n`);
  return value;
}
