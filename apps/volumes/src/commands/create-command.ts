import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import {
  type CSIPlugin,
  type CSIVolumeRegistration,
  type CSIVolumeSpecification,
  NotHolderError,
  Refusal,
} from '@waybill/model';
import { CSI_CONTROLLER } from '@waybill/rpc';
import { namespacedKey, type Tables, volumeRegistrations } from '@waybill/state';
import { controllerCan } from '../plugins/controller-abilities.js';
import { failing, VolumeStepError, joinedFailures } from './errors.js';
import type { PluginCalls } from '../plugins/plugin-calls.js';
import { RequestWriter } from './request-writer.js';
import type { VolumeExpansion } from './volume-expansion.js';
import type { VolumeTurns } from '../releases/volume-turns.js';
import { carriedOut, volumeUpdate } from './volume-update.js';

export interface CreateCommandDeps {
  readonly tables: Tables;
  readonly writer: HolderWriter;
  readonly calls: PluginCalls;
  readonly expansion: VolumeExpansion;
  readonly turns: VolumeTurns;
}

/**
 * Creates disks by their plugins and registers them (3.5); an existing volume is updated (VL-39). Each volume is
 * registered as soon as its disk exists, regardless of the others (VL-40). If the request is repeated after a lost
 * answer, the provider returns the same disk (VL-41).
 */
export class CreateCommand {
  constructor(private readonly deps: CreateCommandDeps) {}

  /** Resolves with the index of the last transaction. @throws Refusal, VolumeStepError */
  createVolumes(volumes: readonly CSIVolumeSpecification[], by: Partial<Author>): Promise<number> {
    return this.deps.turns.holdAll(volumes, async () => {
      const registrations = volumeRegistrations(this.deps.tables, volumes);
      for (const { PluginID } of registrations) refuseUnable(this.deps.tables.csi_plugins.get(PluginID));
      const writer = new RequestWriter(this.deps.writer, by);
      const failures: unknown[] = [];
      let index = 0;
      for (const registration of registrations) {
        try {
          index = await this.made(registration, writer);
        } catch (error) {
          // The API repeats the request to the next holder, and the provider returns the same disk (VL-41).
          if (error instanceof NotHolderError) throw error;
          failures.push(error);
        }
      }
      if (failures.length > 0) throw joinedFailures(failures);
      return index;
    });
  }

  private made(registration: CSIVolumeRegistration, writer: RequestWriter): Promise<number> {
    const isKnown = this.deps.tables.csi_volumes.has(namespacedKey(registration.Namespace, registration.ID));
    return isKnown ? this.updated(registration, writer) : this.created(registration, writer);
  }

  private async updated(given: CSIVolumeRegistration, writer: RequestWriter): Promise<number> {
    const stored = this.deps.tables.csi_volumes.get(namespacedKey(given.Namespace, given.ID));
    if (!stored) throw new Refusal('not-found', `volume not found: ${given.ID}`);
    const { registration, failure } = await carriedOut(volumeUpdate(stored, given), this.deps.expansion);
    const index = await store(writer, registration);
    if (failure !== undefined) throw new VolumeStepError(failure);
    return index;
  }

  /** Creates one disk and registers its volume (VL-36, VL-37, VL-42). */
  private async created(volume: CSIVolumeRegistration, writer: RequestWriter): Promise<number> {
    const disk = await this.deps.calls.controller(CSI_CONTROLLER.create, {
      PluginID: volume.PluginID,
      Name: volume.Name,
      VolumeCapabilities: volume.RequestedCapabilities ?? [],
      MountOptions: volume.MountOptions,
      Parameters: volume.Parameters,
      Secrets: volume.Secrets,
      CapacityMin: volume.RequestedCapacityMin,
      CapacityMax: volume.RequestedCapacityMax,
      SnapshotID: volume.SnapshotID,
      CloneID: volume.CloneID,
      RequestedTopologies: volume.RequestedTopologies,
    });
    const made = {
      ...volume,
      ExternalID: disk.ExternalVolumeID,
      Capacity: disk.CapacityBytes,
      Context: disk.VolumeContext,
      Topologies: [...disk.Topologies],
    };
    return await store(writer, made).catch(
      failing(`volume "${volume.ID}" exists as external volume "${disk.ExternalVolumeID}" but was not registered: `),
    );
  }
}

/** Refuses a plugin that cannot create disks (VL-35). */
function refuseUnable(plugin: CSIPlugin | undefined): void {
  if (!plugin?.ControllerRequired) throw new Refusal('invalid', 'plugin has no controller');
  if (!controllerCan(plugin, 'SupportsCreateDelete'))
    throw new Refusal('invalid', 'plugin does not support creating volumes');
}

const store = (writer: RequestWriter, volume: CSIVolumeRegistration): Promise<number> =>
  writer.write('CSIVolumeRegister', { Volumes: [volume] }, volume.Namespace);
