import { volumeCapabilityShape } from './csi-volume-shape.js';
import type { HostVolumeSpecification } from './host-volume.js';
import { constraintShape } from '../jobs/placement-shape.js';
import { decodeShape, int, list, map, object, present, type Shape, string } from '../encoding/wire-shape.js';

/** The members of a host volume that a client may set. State, indexes and times in its body are ignored. */
export const hostVolumeShape: Shape<HostVolumeSpecification> = {
  name: 'HostVolume',
  fields: {
    Namespace: string(),
    ID: string(),
    Name: string(),
    PluginID: string(),
    NodePool: string(),
    NodeID: string(),
    Constraints: list(present(constraintShape)),
    RequestedCapacityMinBytes: int(),
    RequestedCapacityMaxBytes: int(),
    CapacityBytes: int(),
    RequestedCapabilities: list(present(volumeCapabilityShape)),
    Parameters: map(string()),
    HostPath: string(),
  },
};

/**
 * Decodes the body of a create or register request. Returns null if it has no volume. A volume without a namespace gets
 * that of the request.
 */
export function decodeHostVolume(json: unknown, namespace: string): HostVolumeSpecification | null {
  const { Volume } = decodeShape(requestShape, json);
  return Volume && { ...Volume, Namespace: Volume.Namespace || namespace };
}

const requestShape: Shape<{ Volume: HostVolumeSpecification | null }> = {
  name: 'HostVolumeRequest',
  fields: { Volume: object(hostVolumeShape) },
};
