import { access, constants, readdir, stat } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { ExternalPlugin } from './external-plugin.transport.js';
import type { HostVolumePlugin } from './host-volume-plugin.js';
import { endLeftPrograms } from './left-programs.store.js';
import { MkdirPlugin } from './mkdir-plugin.store.js';
import { below, entryName } from '../../paths/path-name.js';

export interface HostVolumeDirectories {
  /** The directory in which plugins make volumes. */
  readonly volumesDir: string;
  /** The directory of external plugins. It need not exist. */
  readonly pluginDir: string;
}

/** Returns the built-in plugin, and every program of the plugin directory that reports a version. It searches once. */
export async function findHostVolumePlugins(
  { volumesDir, pluginDir }: HostVolumeDirectories,
  logger: Logger,
): Promise<ReadonlyMap<string, HostVolumePlugin>> {
  const plugins = new Map<string, HostVolumePlugin>([['mkdir', new MkdirPlugin(volumesDir)]]);
  await Promise.all(
    (await programsIn(pluginDir)).map(async (id) => {
      const file = below(pluginDir, entryName(id));
      try {
        if (plugins.has(id)) throw new Error(`"${id}" is built in`);
        await endLeftPrograms({ file, volumesDir });
        plugins.set(id, await ExternalPlugin.at({ id, file, pluginDir, volumesDir }));
      } catch (error) {
        logger.warn('this host volume plugin cannot be used', { file, error });
      }
    }),
  );
  return plugins;
}

/** Returns the names of executable files. */
async function programsIn(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  });
  const programs: string[] = [];
  for (const name of names) {
    const file = below(dir, entryName(name));
    const isFile = (await stat(file).catch(() => undefined))?.isFile() ?? false;
    const isProgram = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isFile && isProgram) programs.push(name);
  }
  return programs.toSorted();
}
