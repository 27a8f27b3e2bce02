import { CLAIM_MODE } from '@waybill/model';
import type { NodeDetachVolumeRequest, NodeExpandVolumeRequest, NodeExpandVolumeResponse } from '@waybill/rpc';
import type { CsiHost } from './csi-host.js';
import { answering, capacityOf } from './controller-calls.js';
import { NoSuchPluginError } from './local-plugins.js';
import { jsonBytes } from './provider-views.js';
import type { MountedVolume } from './volume-mounter.js';

/** A request of the servers that names too little. */
export class NodeCallError extends Error {
  override readonly name = 'NodeCallError';
}

/** What the servers have done to the volumes of this machine through its node plugins (VL-246, VL-247). All @throws RpcError */
export class NodeCalls {
  constructor(private readonly host: Pick<CsiHost, 'plugins' | 'mounter'>) {}

  /** Of what is not mounted it is a success. */
  detach(request: NodeDetachVolumeRequest): Promise<null> {
    return answering('NodeDetachVolume', async () => {
      const volume = volumeOf(request);
      const plugin = this.host.plugins.nodePlugin(request.PluginID);
      if (!plugin) throw new NoSuchPluginError('node', request.PluginID);
      await this.host.mounter.unmount(plugin, volume, new AbortController().signal);
      return null;
    });
  }

  /** Waits for the plugin. */
  expand(request: NodeExpandVolumeRequest): Promise<NodeExpandVolumeResponse> {
    return answering('NodeExpandVolume', async () => {
      const volume = volumeOf(request);
      const plugin = await this.host.plugins.nodePluginReady(request.PluginID, new AbortController().signal);
      const options = request.MountOptions ?? { FSType: '', MountFlags: null };
      const secrets = request.Secrets ?? {};
      const bytes = await this.host.mounter.expand(plugin, { ...volume, options, secrets }, capacityOf(request));
      return { CapacityBytes: jsonBytes(bytes) };
    });
  }
}

/** @throws NodeCallError */
function volumeOf(request: NodeDetachVolumeRequest): MountedVolume {
  const { PluginID, VolumeID, Namespace, ExternalID, Claim } = request;
  const required = Object.entries({ PluginID, VolumeID, AllocID: Claim.AllocationID });
  for (const [name, value] of required) if (value === '') throw new NodeCallError(`${name} is required`);
  return {
    namespace: Namespace,
    volumeId: VolumeID,
    externalId: ExternalID || VolumeID,
    allocId: Claim.AllocationID,
    usage: {
      ReadOnly: Claim.Mode === CLAIM_MODE.read,
      AttachmentMode: Claim.AttachmentMode,
      AccessMode: Claim.AccessMode,
    },
  };
}
