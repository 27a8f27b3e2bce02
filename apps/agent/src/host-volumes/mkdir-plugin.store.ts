import { chmod, chown, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { CreatedOnNode, HostVolumeOnNode } from '@waybill/rpc';
import { isErrno } from '../drivers/process-identity.js';
import { type HostVolumePlugin, HostVolumeRefusal } from './host-volume-plugin.js';

const DEFAULT_MODE = 0o700;
const KEEP = -1;

interface Ownership {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** The built-in plugin `mkdir` (VL-296): a directory with the volume's ID. It sets no limit to what is put there. */
export class MkdirPlugin implements HostVolumePlugin {
  readonly version = '0.0.1';

  constructor(private readonly volumesDir: string) {}

  /** A directory that is there already stays as it is. */
  async create({ ID, Parameters }: HostVolumeOnNode): Promise<CreatedOnNode> {
    const { mode, uid, gid } = ownershipOf(Parameters ?? {});
    const HostPath = path.join(this.volumesDir, ID);
    await mkdir(this.volumesDir, { recursive: true, mode: 0o711 });
    try {
      await mkdir(HostPath);
    } catch (error) {
      if (isErrno(error, 'EEXIST')) return { HostPath, CapacityBytes: 0 };
      throw error;
    }
    try {
      await chmod(HostPath, mode); // whatever the umask of this process is
      if (uid !== KEEP || gid !== KEEP) await chown(HostPath, uid, gid);
    } catch (error) {
      await rm(HostPath, { recursive: true, force: true });
      throw new HostVolumeRefusal(error instanceof Error ? error.message : String(error));
    }
    return { HostPath, CapacityBytes: 0 };
  }

  async delete({ ID }: HostVolumeOnNode): Promise<void> {
    await rm(path.join(this.volumesDir, ID), { recursive: true, force: true });
  }
}

/** @throws HostVolumeRefusal */
function ownershipOf(parameters: Readonly<Record<string, string>>): Ownership {
  let [mode, uid, gid] = [DEFAULT_MODE, KEEP, KEEP];
  for (const [name, value] of Object.entries(parameters)) {
    if (name === 'mode') mode = numberOf(name, value, /^[0-7]{1,4}$/, 8);
    else if (name === 'uid') uid = numberOf(name, value, /^\d{1,10}$/, 10);
    else if (name === 'gid') gid = numberOf(name, value, /^\d{1,10}$/, 10);
    else throw new HostVolumeRefusal(`unknown mkdir parameter: "${name}"`);
  }
  return { mode, uid, gid };
}

function numberOf(name: string, value: string, form: RegExp, radix: number): number {
  if (!form.test(value)) throw new HostVolumeRefusal(`invalid value for "${name}": "${value}"`);
  return Number.parseInt(value, radix);
}
