import type { Author } from '@waybill/writing';
import {
  type CSIVolumeRegistration,
  type CSIVolumeSpecification,
  remoteIdOf,
  errorText,
  Refusal,
} from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { CSI_CONTROLLER } from '@waybill/rpc';
import { namespacedKey, type Tables, volumeRegistrations } from '@waybill/state';
import { failing, VolumeStepError, codeBehind } from './errors.js';
import type { PluginCalls } from '../plugins/plugin-calls.js';
import { RequestWriter } from './request-writer.js';
import type { VolumeExpansion } from './volume-expansion.js';
import type { VolumeTurns } from '../releases/volume-turns.js';
import { carriedOut, type VolumeUpdate, volumeUpdate } from './volume-update.js';

export interface RegisterCommandDeps {
  readonly tables: Tables;
  readonly writer: HolderWriter;
  readonly calls: PluginCalls;
  readonly expansion: VolumeExpansion;
  readonly turns: VolumeTurns;
}

/** The step to take for one volume of a request. */
type Step =
  | { readonly kind: 'new'; readonly registration: CSIVolumeRegistration }
  | { readonly kind: 'update'; readonly update: VolumeUpdate };

/**
 * Registers existing disks (3.3), or updates their volumes (3.4): all volumes of a request in one transaction, or none.
 * Everything is checked before a plugin is called (VL-16). If a disk has grown and another volume fails, the new size
 * is stored, because a provider cannot shrink a disk (VL-51).
 */
export class RegisterCommand {
  constructor(private readonly deps: RegisterCommandDeps) {}

  /** Resolves with the index of the transaction. @throws Refusal */
  registerVolumes(volumes: readonly CSIVolumeSpecification[], by: Partial<Author>): Promise<number> {
    return this.deps.turns.holdAll(volumes, async () => {
      const steps = volumeRegistrations(this.deps.tables, volumes).map((volume) => this.stepFor(volume));
      const writer = new RequestWriter(this.deps.writer, by);
      const ready: CSIVolumeRegistration[] = [];
      const grown: CSIVolumeRegistration[] = [];
      try {
        for (const step of steps) ready.push(await this.taken(step, grown));
      } catch (error) {
        if (grown.length > 0) await store(writer, grown);
        throw error;
      }
      return await store(writer, ready);
    });
  }

  private stepFor(registration: CSIVolumeRegistration): Step {
    const stored = this.deps.tables.csi_volumes.get(namespacedKey(registration.Namespace, registration.ID));
    if (!stored) return { kind: 'new', registration };
    try {
      return { kind: 'update', update: volumeUpdate(stored, registration) };
    } catch (error) {
      throw new Refusal(codeBehind(error), `${UPDATE_FAILED}${errorText(error)}`);
    }
  }

  private async taken(step: Step, grown: CSIVolumeRegistration[]): Promise<CSIVolumeRegistration> {
    if (step.kind === 'new') {
      await this.validate(step.registration);
      return step.registration;
    }
    const updated = carriedOut(step.update, this.deps.expansion);
    const { registration, failure } = await updated.catch(failing(UPDATE_FAILED));
    if (step.update.change.kind === 'expanded') grown.push(registration);
    if (failure !== undefined) throw new VolumeStepError(`${UPDATE_FAILED}${failure}`);
    return registration;
  }

  /** Validates a new volume with its plugin (VL-19, VL-21). */
  private async validate(volume: CSIVolumeRegistration): Promise<void> {
    if (!volume.ControllerRequired) return;
    await this.deps.calls.controller(CSI_CONTROLLER.validate, {
      PluginID: volume.PluginID,
      VolumeID: remoteIdOf(volume),
      VolumeCapabilities: volume.RequestedCapabilities ?? [],
      Secrets: volume.Secrets,
      Parameters: volume.Parameters,
      VolumeContext: volume.Context,
    });
  }
}

const UPDATE_FAILED = 'unable to update volume: ';

/** The volumes carry their own namespaces (VL-10). */
const store = (writer: RequestWriter, Volumes: CSIVolumeRegistration[]): Promise<number> =>
  writer.write('CSIVolumeRegister', { Volumes }, Volumes[0]?.Namespace ?? '');
