import type { CSIVolume, CSIVolumeClaim } from '@waybill/model';
import type { Tables } from '@waybill/state';
import { VolumeStepError } from '../commands/errors.js';

/** The provider's name of a machine. */
export type ExternalNode =
  | { readonly id: string }
  /** The machine is not in the cluster any more, and no claim recorded its external ID (VL-116). */
  | { readonly gone: true };

/**
 * The external ID (VL-115): from the claim itself, or else from any claim of the machine, readers first, or else from
 * the report of its plugin.
 * @throws VolumeStepError if the machine exists and has no such plugin now (VL-117)
 */
export function externalNodeOf(tables: Pick<Tables, 'nodes'>, volume: CSIVolume, claim: CSIVolumeClaim): ExternalNode {
  const written = claim.ExternalNodeID || fromClaims(volume, claim.NodeID);
  if (written) return { id: written };
  const node = tables.nodes.get(claim.NodeID);
  if (!node) return { gone: true };
  const id = node.CSINodePlugins?.[volume.PluginID]?.NodeInfo?.ID;
  if (id) return { id };
  throw new VolumeStepError(
    `missing external node ID: failed to find storage provider info for client "${claim.NodeID}", node plugin "${volume.PluginID}" is not running or has not fingerprinted on this client`,
  );
}

function fromClaims(volume: CSIVolume, nodeId: string): string {
  for (const claims of [volume.ReadClaims, volume.WriteClaims, volume.PastClaims])
    for (const claim of Object.values(claims))
      if (claim.NodeID === nodeId && claim.ExternalNodeID) return claim.ExternalNodeID;
  return '';
}
