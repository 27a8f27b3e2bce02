import {
  type CapacityChange,
  type CSIVolume,
  type CSIVolumeClaim,
  formatErrors,
  remoteIdOf,
  type RequestedCapacity,
  errorText,
} from '@waybill/model';
import { CSI_CONTROLLER, CSI_NODE } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { controllerCan } from '../plugins/controller-abilities.js';
import { failing, VolumeStepError } from './errors.js';
import type { PluginCalls } from '../plugins/plugin-calls.js';

/** An expanded volume, which is stored also if there is a `failure` (VL-51). */
export interface Resized {
  readonly volume: CSIVolume;
  /**
   * Why a machine does not see the new size yet. Until all machines do, the requested sizes are not stored, so that
   * they can be requested again.
   */
  readonly failure?: string;
}

/** Expands disks at their provider and on the machines that have them mounted (3.6). Stateless. */
export class VolumeExpansion {
  constructor(
    private readonly tables: Pick<Tables, 'csi_plugins'>,
    private readonly calls: PluginCalls,
  ) {}

  /** The volume after the change of its capacity. @throws VolumeStepError if nothing has changed */
  async resized(volume: CSIVolume, change: CapacityChange): Promise<Resized> {
    switch (change.kind) {
      case 'none':
        return { volume };
      case 'refused':
        throw new VolumeStepError(change.error);
      case 'stored':
        return { volume: { ...volume, ...change.requested } };
      case 'reached':
        return this.seenOnNodes(volume, change.requested);
      case 'expanded':
        return this.expanded(volume, change.requested);
    }
  }

  /** Expands the disk at its provider, and on its machines if need be (VL-47, VL-48). */
  private async expanded(volume: CSIVolume, requested: RequestedCapacity): Promise<Resized> {
    const plugin = this.tables.csi_plugins.get(volume.PluginID);
    if (!plugin || !controllerCan(plugin, 'SupportsExpand'))
      throw new VolumeStepError('expand is not implemented by this controller plugin');
    const { AccessMode, AttachmentMode, MountOptions, Secrets, PluginID } = volume;
    const sizes = { CapacityMin: requested.RequestedCapacityMin, CapacityMax: requested.RequestedCapacityMax };
    const { CapacityBytes, NodeExpansionRequired } = await this.calls
      .controller(CSI_CONTROLLER.expand, {
        PluginID,
        ExternalVolumeID: remoteIdOf(volume),
        ...sizes,
        VolumeCapability: AccessMode === '' ? null : { AccessMode, AttachmentMode },
        MountOptions,
        Secrets,
      })
      .catch(failing('unable to expand volume: '));
    const larger = { ...volume, Capacity: CapacityBytes };
    return NodeExpansionRequired ? await this.seenOnNodes(larger, requested) : { volume: { ...larger, ...requested } };
  }

  private async seenOnNodes(volume: CSIVolume, requested: RequestedCapacity): Promise<Resized> {
    const { RequestedCapacityMin: CapacityMin, RequestedCapacityMax: CapacityMax } = requested;
    const failures = await this.expandOnNodes(volume, { CapacityMin, CapacityMax });
    return failures.length === 0
      ? { volume: { ...volume, ...requested } }
      : { volume, failure: formatErrors(failures) };
  }

  /** Expands the disk on every machine that has it mounted, also after a failure on one of them (VL-49). */
  private async expandOnNodes(
    volume: CSIVolume,
    sizes: { readonly CapacityMin: number; readonly CapacityMax: number },
  ): Promise<string[]> {
    const expand = async (claim: CSIVolumeClaim): Promise<string | undefined> => {
      try {
        await this.calls.node(CSI_NODE.expand, claim.NodeID, {
          PluginID: volume.PluginID,
          VolumeID: volume.ID,
          Namespace: volume.Namespace,
          ExternalID: remoteIdOf(volume),
          Claim: claim,
          MountOptions: volume.MountOptions,
          ...sizes,
          Secrets: volume.Secrets,
        });
        return undefined;
      } catch (error) {
        return errorText(error);
      }
    };
    const claims = [...Object.values(volume.ReadClaims), ...Object.values(volume.WriteClaims)];
    const failures = await Promise.all(claims.map(expand));
    return failures.filter((failure) => failure !== undefined);
  }
}
