import { type CSIVolumeRegistration, type CSIVolumeSpecification, validateVolume, Refusal } from '@waybill/model';
import type { Tables } from '../machine/tables.js';

/**
 * The volumes of a register or create request in the form to store, with the records of their plugins (3.2): all of
 * them, or none. Computed before any call to a plugin; the transaction checks the namespaces again.
 * @throws Refusal of the first volume that is refused
 */
export function volumeRegistrations(
  tables: Tables,
  volumes: readonly CSIVolumeSpecification[],
): CSIVolumeRegistration[] {
  if (volumes.length === 0) throw new Refusal('invalid', 'missing volume definition');
  return volumes.map((volume) => registrationOf(tables, volume));
}

/** Validates a volume and turns it into its registration (VL-11 to VL-15). */
function registrationOf(tables: Tables, volume: CSIVolumeSpecification): CSIVolumeRegistration {
  const error = validateVolume(volume);
  if (error !== '') throw new Refusal('invalid', error);
  if (!tables.namespaces.has(volume.Namespace))
    throw new Refusal('invalid', `volume ${volume.ID} is in nonexistent namespace ${volume.Namespace}`);
  const plugin = tables.csi_plugins.get(volume.PluginID);
  if (!plugin) throw new Refusal('invalid', `no CSI plugin named: ${volume.PluginID} could be found`);
  const { Provider, Version, ControllerRequired, ControllersHealthy } = plugin;
  if (ControllerRequired && ControllersHealthy === 0)
    throw new Refusal('conflict', `no healthy controllers for CSI plugin: ${volume.PluginID}`);
  return { ...volume, Provider, ProviderVersion: Version, ControllerRequired };
}
