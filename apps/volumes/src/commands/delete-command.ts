import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import { type CSIVolume, isInUse, remoteIdOf, Refusal } from '@waybill/model';
import { CSI_CONTROLLER } from '@waybill/rpc';
import { namespacedKey, type Tables } from '@waybill/state';
import type { NamedVolumes } from './deregister-command.js';
import type { PluginCalls } from '../plugins/plugin-calls.js';
import { RequestWriter } from './request-writer.js';
import type { VolumeTurns } from '../releases/volume-turns.js';

export interface DeleteCommandDeps {
  readonly tables: Tables;
  readonly writer: HolderWriter;
  readonly calls: PluginCalls;
  readonly turns: VolumeTurns;
}

type Secrets = Readonly<Record<string, string>> | null;

/**
 * Deletes disks at their provider, and each volume from the state as soon as its disk is deleted. All volumes of a
 * request are checked before the first plugin is called (VL-58, VL-60), and none can be claimed meanwhile. A provider
 * accepts the deletion of a disk that is gone already, so an interrupted request can be repeated (VL-61).
 */
export class DeleteCommand {
  constructor(private readonly deps: DeleteCommandDeps) {}

  /** Resolves with the index of the last transaction. @throws Refusal */
  deleteVolumes({ namespace, ids }: NamedVolumes, secrets: Secrets, by: Partial<Author>): Promise<number> {
    if (ids.length === 0) throw new Refusal('invalid', 'missing volume IDs');
    return this.deps.turns.runInTurns(namespace, ids, async () => {
      const volumes = ids.map((id) => this.deletable(namespace, id));
      const writer = new RequestWriter(this.deps.writer, by);
      let index = 0;
      for (const volume of volumes) {
        await this.deps.calls.controller(CSI_CONTROLLER.delete, {
          PluginID: volume.PluginID,
          ExternalVolumeID: remoteIdOf(volume),
          Secrets: { ...volume.Secrets, ...secrets },
        });
        index = await writer.write('CSIVolumeDeregister', { VolumeIDs: [volume.ID], Force: false }, namespace);
      }
      return index;
    });
  }

  /** The volume, if it may be deleted (VL-58 to VL-60). */
  private deletable(namespace: string, id: string): CSIVolume {
    const volume = this.deps.tables.csi_volumes.get(namespacedKey(namespace, id));
    if (!volume) throw new Refusal('not-found', `volume not found: ${id}`);
    if (isInUse(volume)) throw new Refusal('conflict', `volume in use: ${id}`);
    const plugin = this.deps.tables.csi_plugins.get(volume.PluginID);
    if (!plugin && volume.ControllerRequired) throw new Refusal('not-found', `plugin not found: ${volume.PluginID}`);
    if (!plugin?.ControllerRequired)
      throw new Refusal('not-found', `plugin "${volume.PluginID}" for volume "${id}" not found`);
    return volume;
  }
}
