import {
  capacityChange,
  type CapacityChange,
  type CSIVolume,
  type CSIVolumeRegistration,
  formatErrors,
  updatedVolume,
  volumeUpdateErrors,
  Refusal,
} from '@waybill/model';
import type { VolumeExpansion } from './volume-expansion.js';

/** The changes that a submission makes to the stored volume of its ID; none has been carried out yet. */
export interface VolumeUpdate {
  readonly merged: CSIVolume;
  readonly change: CapacityChange;
}

/** A volume to store, also if `failure` names another step that failed (VL-51). */
export interface Updated {
  readonly registration: CSIVolumeRegistration;
  readonly failure?: string;
}

/**
 * Compares the stored volume with the submitted one (VL-26 to VL-33, VL-43 to VL-46). Pure.
 * @param given the submission with the current record of its plugin (VL-15)
 * @throws Refusal if the stored volume cannot become the submitted one
 */
export function volumeUpdate(stored: CSIVolume, given: CSIVolumeRegistration): VolumeUpdate {
  const errors = volumeUpdateErrors(stored, given);
  if (errors.length > 0) throw new Refusal('invalid', formatErrors(errors));
  const change = capacityChange(stored, given);
  if (change.kind === 'refused') throw new Refusal('invalid', change.error);
  const { Provider, ProviderVersion, ControllerRequired } = given;
  return { merged: { ...updatedVolume(stored, given), Provider, ProviderVersion, ControllerRequired }, change };
}

/**
 * Carries out the change of capacity. @throws VolumeStepError if the provider did not expand the disk: there is nothing
 * to store
 */
export async function carriedOut({ merged, change }: VolumeUpdate, expansion: VolumeExpansion): Promise<Updated> {
  const { volume, failure } = await expansion.resized(merged, change);
  return { registration: registrationOf(volume), ...(failure !== undefined && { failure }) };
}

/** The volume without its claims and indexes, which a registration does not change (VL-17). */
function registrationOf(volume: CSIVolume): CSIVolumeRegistration {
  const {
    AccessMode: _accessMode,
    AttachmentMode: _attachmentMode,
    ReadClaims: _readers,
    WriteClaims: _writers,
    PastClaims: _past,
    ResourceExhausted: _exhausted,
    CreateIndex: _created,
    ModifyIndex: _modified,
    CreateTime: _createdAt,
    ModifyTime: _modifiedAt,
    ...registration
  } = volume;
  return registration;
}
