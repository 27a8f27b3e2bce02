import path from 'node:path';
import { checkedSocketPath } from '@waybill/csi';
import type { CSIPluginConfig } from '@waybill/model';
import type { PluginPlaces } from '../../volumes/csi/csi-host.js';
import type { MountPlaces } from '../../volumes/csi/mount-places.store.js';
import { SOCKET_NAME } from '../../volumes/csi/volume-paths.js';
import type { MountSupport } from '../../drivers/driver.js';
import type { TaskAdditions, TaskHook, TaskStart } from '../task-hook.js';
import { below } from '../../paths/path-name.js';

const ENDPOINT = 'CSI_ENDPOINT';
/** The options for mounts that must be visible outside of the plugin's task (CW-5). */
const SHARED = { readOnly: false, propagation: 'bidirectional' };

export interface CsiPluginHookDependencies {
  /** @throws UnsafeNameError */
  readonly placesOf: (allocId: string, config: CSIPluginConfig) => PluginPlaces;
  readonly mountSupport: (driver: string) => MountSupport;
  readonly directories: Pick<MountPlaces, 'make'>;
}

/**
 * CsiPluginHook gives a task that is a storage plugin the directories that it shares with the agent, and its endpoint
 * (VL-204, VL-205).
 */
export class CsiPluginHook implements TaskHook {
  readonly name = 'csi_plugin_supervisor';

  constructor(private readonly deps: CsiPluginHookDependencies) {}

  /** @throws SocketPathTooLongError, UnsafeNameError */
  async prestart({ alloc, task }: Pick<TaskStart, 'alloc' | 'task'>): Promise<TaskAdditions | void> {
    const config = task.CSIPluginConfig;
    if (!config) return undefined;
    const { socketPath, mountRoot } = this.deps.placesOf(alloc.ID, config);
    const socketDir = path.dirname(checkedSocketPath(socketPath));
    await this.deps.directories.make(socketDir);
    await this.deps.directories.make(mountRoot);
    const hasView = this.deps.mountSupport(task.Driver) === 'bind';
    const endpoint = `unix://${hasView ? below(config.MountDir, SOCKET_NAME) : socketPath}`;
    return {
      ...(task.Env?.[ENDPOINT] === undefined && { env: { [ENDPOINT]: endpoint } }),
      mounts: hasView
        ? [
            { source: socketDir, destination: config.MountDir, ...SHARED },
            { source: mountRoot, destination: config.StagePublishBaseDir, ...SHARED },
            { source: '/dev', destination: '/dev', readOnly: false, propagation: '' },
          ]
        : [],
    };
  }
}
