import type { CSIVolumeSpecification, TopologyRequest } from './csi-volume.js';
import type { Topology } from './csi-plugin.js';
import { mountOptionsShape } from '../jobs/task-group-shape.js';
import type { VolumeCapability } from '../jobs/volume.js';
import { decodeShape, int, list, map, object, present, string, type Shape } from '../encoding/wire-shape.js';

const topologyShape: Shape<Topology> = { name: 'CSITopology', fields: { Segments: map(string()) } };

const topologyRequestShape: Shape<TopologyRequest> = {
  name: 'CSITopologyRequest',
  fields: { Required: list(present(topologyShape)), Preferred: list(present(topologyShape)) },
};

export const volumeCapabilityShape: Shape<VolumeCapability> = {
  name: 'CSIVolumeCapability',
  fields: { AttachmentMode: string(), AccessMode: string() },
};

/**
 * The members of a volume that a client may set. All others in its body are ignored, so that JSON copied from a read
 * brings no claims, modes, health or times (VL-17, VL-22).
 */
export const csiVolumeShape: Shape<CSIVolumeSpecification> = {
  name: 'CSIVolume',
  fields: {
    ID: string(),
    Name: string(),
    ExternalID: string(),
    Namespace: string(),
    RequestedTopologies: object(topologyRequestShape),
    Topologies: list(present(topologyShape)),
    MountOptions: object(mountOptionsShape),
    Secrets: map(string()),
    Parameters: map(string()),
    Context: map(string()),
    Capacity: int(),
    RequestedCapacityMin: int(),
    RequestedCapacityMax: int(),
    RequestedCapabilities: list(present(volumeCapabilityShape)),
    CloneID: string(),
    SnapshotID: string(),
    PluginID: string(),
  },
};

/** Decodes the body of a register or create request. A volume without a namespace gets that of the request (VL-10). */
export function decodeVolumes(json: unknown, namespace: string): CSIVolumeSpecification[] {
  const { Volumes } = decodeShape(registerShape, json);
  return (Volumes ?? []).map((volume) => ({ ...volume, Namespace: volume.Namespace || namespace }));
}

const registerShape: Shape<{ Volumes: CSIVolumeSpecification[] | null }> = {
  name: 'CSIVolumeRegisterRequest',
  fields: { Volumes: list(present(csiVolumeShape)) },
};
