import { errorText } from '@waybill/model';
import { chmod, chown, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { makeDirectory } from '@waybill/processes';
import type { CreatedOnNode, HostVolumeOnNode } from '@waybill/rpc';
import { mountsFrom } from '../../allocations/disk/mount-table.store.js';
import { type HostVolumePlugin, HostVolumeRefusal } from './host-volume-plugin.js';
import { below, pathName } from '../../paths/path-name.js';

const DEFAULT_MODE = 0o700;
const KEEP = -1;

interface Ownership {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * MkdirPlugin is the built-in plugin `mkdir` (VL-296). It makes a directory with the volume's ID, without a limit on
 * its size.
 */
export class MkdirPlugin implements HostVolumePlugin {
  readonly version = '0.0.1';

  constructor(private readonly volumesDir: string) {}

  /**
   * Makes the directory. An existing one stays as it is. A new one is moved into place when its mode and owner are set.
   */
  async create({ ID, Parameters }: HostVolumeOnNode): Promise<CreatedOnNode> {
    const { mode, uid, gid } = ownershipOf(Parameters ?? {});
    const HostPath = below(this.volumesDir, pathName(ID, 'the volume'));
    if (await isThere(HostPath)) return { HostPath, CapacityBytes: 0 };
    const unfinished = this.unfinishedPath(ID);
    await rm(unfinished, { recursive: true, force: true }); // left by an agent that was killed
    await makeDirectory(this.volumesDir, {
      mode: 0o711,
      otherwise: 'choose another directory with WAYBILL_HOST_VOLUMES_DIR',
    });
    await mkdir(unfinished);
    try {
      await chmod(unfinished, mode); // independent of the process's umask
      if (uid !== KEEP || gid !== KEEP) await chown(unfinished, uid, gid);
      await rename(unfinished, HostPath);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      throw new HostVolumeRefusal(errorText(error));
    }
    return { HostPath, CapacityBytes: 0 };
  }

  /**
   * Deletes the directory.
   * @throws HostVolumeRefusal if a file system is mounted there, because its contents do not belong to the volume
   */
  async delete({ ID }: HostVolumeOnNode): Promise<void> {
    const [mounted] = await mountsFrom(below(this.volumesDir, pathName(ID, 'the volume')));
    if (mounted !== undefined) throw new HostVolumeRefusal(`something is mounted at ${mounted}: unmount it first`);
    for (const made of [this.unfinishedPath(ID), below(this.volumesDir, pathName(ID, 'the volume'))])
      await rm(made, { recursive: true, force: true });
  }

  private unfinishedPath(id: string): string {
    return below(this.volumesDir, pathName(`.${id}.new`, 'the volume'));
  }
}

const isThere = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

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
