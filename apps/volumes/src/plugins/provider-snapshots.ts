import { type CSIPlugin, remoteIdOf, NotHolderError, Refusal } from '@waybill/model';
import {
  type ControllerListSnapshotsRequest,
  type DeleteSnapshotRequest,
  type Snapshot,
  type SnapshotsResponse,
  type SnapshotSpecification,
  CSI_CONTROLLER,
} from '@waybill/rpc';
import { namespacedKey, type Tables } from '@waybill/state';
import { controllerCan } from './controller-abilities.js';
import { failing, joinedFailures } from '../commands/errors.js';
import type { PluginCalls } from './plugin-calls.js';

/** Snapshots of disks, which exist at the provider only and are not stored here (3.20). Stateless. */
export class ProviderSnapshots {
  constructor(
    private readonly tables: Pick<Tables, 'csi_volumes' | 'csi_plugins'>,
    private readonly calls: PluginCalls,
  ) {}

  /**
   * Creates snapshots; a failure of one does not prevent the others (VL-195). @throws Refusal, VolumeStepError with all
   * failures
   */
  async create(namespace: string, wanted: readonly (SnapshotSpecification | null)[]): Promise<SnapshotsResponse> {
    const Snapshots: Snapshot[] = [];
    const failures: unknown[] = [];
    for (const one of wanted) {
      if (!one) throw new Refusal('invalid', 'snapshot cannot be nil');
      try {
        Snapshots.push(await this.created(namespace, one));
      } catch (error) {
        if (error instanceof NotHolderError) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw joinedFailures(failures);
    return { Snapshots, NextToken: '' };
  }

  /** Creates one snapshot (VL-195, VL-196). */
  private async created(namespace: string, wanted: SnapshotSpecification): Promise<Snapshot> {
    const volume = this.tables.csi_volumes.get(namespacedKey(namespace, wanted.SourceVolumeID));
    if (!volume) throw new Refusal('not-found', `no such volume "${wanted.SourceVolumeID}"`);
    const PluginID = wanted.PluginID || volume.PluginID;
    const plugin = this.tables.csi_plugins.get(PluginID);
    if (!plugin) throw new Refusal('not-found', `no such plugin "${PluginID}"`);
    if (!controllerCan(plugin, 'SupportsCreateDeleteSnapshot'))
      throw new Refusal('invalid', `plugin "${PluginID}" does not support snapshot`);
    const made = await this.calls
      .controller(CSI_CONTROLLER.createSnapshot, {
        PluginID,
        VolumeID: remoteIdOf(volume),
        Name: wanted.Name,
        Parameters: wanted.Parameters,
        Secrets: { ...volume.Secrets, ...wanted.Secrets },
      })
      .catch(failing('could not create snapshot: '));
    return { ...made, SourceVolumeID: volume.ID, PluginID };
  }

  /** Deletes a snapshot (VL-198). @throws Refusal, VolumeStepError */
  async delete({ PluginID, SnapshotID, Secrets }: Omit<DeleteSnapshotRequest, 'For'>): Promise<void> {
    this.pluginThat('SupportsCreateDeleteSnapshot', PluginID, 'plugin does not support snapshot');
    const deleted = this.calls.controller(CSI_CONTROLLER.deleteSnapshot, { PluginID, ID: SnapshotID, Secrets });
    await deleted.catch(failing(`could not delete "${SnapshotID}": `));
  }

  /** Lists snapshots (VL-199). @throws Refusal, VolumeStepError */
  async list(page: ControllerListSnapshotsRequest): Promise<SnapshotsResponse> {
    this.pluginThat('SupportsListSnapshots', page.PluginID, 'plugin does not support listing snapshots');
    const { Entries, NextToken } = await this.calls.controller(CSI_CONTROLLER.listSnapshots, page);
    return { Snapshots: Entries.map((one) => ({ ...one, SourceVolumeID: '', PluginID: page.PluginID })), NextToken };
  }

  private pluginThat(ability: Parameters<typeof controllerCan>[1], id: string, otherwise: string): CSIPlugin {
    const plugin = this.tables.csi_plugins.get(id);
    if (!plugin) throw new Refusal('not-found', 'no such plugin');
    if (!controllerCan(plugin, ability)) throw new Refusal('invalid', otherwise);
    return plugin;
  }
}
