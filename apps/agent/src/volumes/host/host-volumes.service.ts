import { stat } from 'node:fs/promises';
import type { ServiceContext } from '@waybill/service';
import { JsonListFile } from '../../durable-files/json-list.store.js';
import type { LocalNode } from '../../machine/node/local-node.js';
import { type HostVolumePlugin, pluginAttribute } from './host-volume-plugin.js';
import { findHostVolumePlugins } from './host-volume-plugins.store.js';
import { HostVolumes } from './host-volumes.js';
import { below, ownDirectory } from '../../paths/path-name.js';

type Plugins = ReadonlyMap<string, HostVolumePlugin>;

/** Returns the plugins of the directories in the settings, else of those below the agent's directory. */
export function hostVolumePluginsOf({ settings, logger }: ServiceContext, dir: string): Promise<Plugins> {
  const volumesDir = ownDirectory(settings.WAYBILL_HOST_VOLUMES_DIR || below(dir, 'host_volumes'));
  const pluginDir = ownDirectory(settings.WAYBILL_HOST_VOLUME_PLUGIN_DIR || below(dir, 'host_volume_plugins'));
  return findHostVolumePlugins({ volumesDir, pluginDir }, logger);
}

/** Returns the node attributes of the plugins. */
export const attributesOf = (plugins: Plugins): Record<string, string> =>
  Object.fromEntries([...plugins].map(([id, { version }]) => [pluginAttribute(id), version]));

export function hostVolumesOf({ logger }: ServiceContext, dir: string, node: LocalNode, plugins: Plugins): HostVolumes {
  return new HostVolumes({
    node,
    plugins,
    records: new JsonListFile(below(dir, 'host-volumes.json')),
    exists: (place) =>
      stat(place).then(
        () => true,
        () => false,
      ),
    logger,
  });
}
