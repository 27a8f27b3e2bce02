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

/** What a submission makes of the volume that is stored under its ID; nothing has been done yet. */
export interface VolumeUpdate {
  readonly merged: CSIVolume;
  readonly change: CapacityChange;
}

/** A volume as it is to be stored, also where `failure` says what else went wrong (VL-51). */
export interface Updated {
  readonly registration: CSIVolumeRegistration;
  readonly failure?: string;
}

/**
 * VL-26 to VL-33, VL-43 to VL-46: looks, and calls nobody.
 * @param given with what its plugin's record says now (VL-15)
 * @throws Refusal all that keeps the one from becoming the other
 */
export function volumeUpdate(stored: CSIVolume, given: CSIVolumeRegistration): VolumeUpdate {
  const errors = volumeUpdateErrors(stored, given);
  if (errors.length > 0) throw new Refusal('invalid', formatErrors(errors));
  const change = capacityChange(stored, given);
  if (change.kind === 'refused') throw new Refusal('invalid', change.error);
  const { Provider, ProviderVersion, ControllerRequired } = given;
  return { merged: { ...updatedVolume(stored, given), Provider, ProviderVersion, ControllerRequired }, change };
}

/** @throws VolumeStepError the provider made it no larger: nothing is to be stored */
export async function carriedOut({ merged, change }: VolumeUpdate, expansion: VolumeExpansion): Promise<Updated> {
  const { volume, failure } = await expansion.resized(merged, change);
  return { registration: registrationOf(volume), ...(failure !== undefined && { failure }) };
}

/** Without what claims and the log say of it: that is theirs (VL-17). */
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
