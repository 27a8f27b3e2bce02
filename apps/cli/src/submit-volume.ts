import type { WireCSIVolume } from '@waybill/model';
import type { Call } from './command-spec.js';
import { failed } from './failure.js';
import { textMember } from './job-file.js';
import { readVolumeFile } from './volume-file.js';

interface Written {
  readonly Volumes: readonly WireCSIVolume[] | null;
  readonly Warnings?: string;
}

/** Sends the volume of a file, and says what became of it (CL-707). @throws CommandFailure */
export async function submitVolume(
  { api, args, terminal }: Call,
  suffix: '' | '/create',
  doing: string,
  done: (volume: Pick<WireCSIVolume, 'ID' | 'ExternalID'>) => string,
): Promise<number> {
  const volume = await readVolumeFile(args[0] ?? '');
  const id = textMember(volume, 'ID') ?? '';
  const path = `/v1/volume/csi/${encodeURIComponent(id)}${suffix}`;
  const { value } = await api.put<Written>(path, { Volumes: [volume] }).catch((error: unknown) => {
    throw failed(doing, error);
  });
  if (value.Warnings) terminal.print(`${terminal.boldYellow('Volume Warnings:')}\n${value.Warnings}\n`);
  for (const one of value.Volumes ?? []) terminal.print(done(one));
  return 0;
}

export const VOLUME_FILE_ARGUMENT = { min: 1, max: 1, otherwise: 'This command takes one argument: <input>' } as const;

/** Accepted, and of no effect on CSI volumes. */
export const VOLUME_FILE_FLAGS = [
  { name: 'policy-override', kind: 'switch', help: 'Nothing to override here; accepted for scripts.' },
] as const;
