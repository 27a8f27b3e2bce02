import { CLAIM_MODE } from '@waybill/model';
import { CSI_NODE, type CsiAnswers, type NodeDetachVolumeRequest } from '@waybill/rpc';
import type { CsiHost } from './csi-host.js';
import { answering, capacityOf } from './controller-calls.js';
import { NoSuchPluginError } from './local-plugins.js';
import { jsonBytes } from './provider-views.js';
import type { MountedVolume } from './volume-mounter.js';

/** A request of the servers that names too little, or what is not theirs to take. */
export class NodeCallError extends Error {
  override readonly name = 'NodeCallError';
}

export type NodeAnswers = CsiAnswers<typeof CSI_NODE>;

/** What of a machine its volumes are taken through. */
export interface NodeVolumes extends Pick<CsiHost, 'usesVolumes'> {
  readonly plugins: Pick<CsiHost['plugins'], 'nodePlugin' | 'nodePluginReady'>;
  readonly mounter: Pick<CsiHost['mounter'], 'unmount' | 'expand'>;
}

/** What the servers have done to the volumes of this machine through its node plugins (VL-246, VL-247). All @throws RpcError */
export const nodeAnswers = (host: NodeVolumes): NodeAnswers => ({
  /**
   * Of what is not mounted it is a success. Servers that have lost sight of the machine may take for ended what runs here:
   * until it has ended here, too, it keeps its disk (VL-69).
   */
  detach: (request) =>
    answering(CSI_NODE.detach.method, async () => {
      const volume = volumeOf(request);
      if (host.usesVolumes(volume.allocId))
        throw new NodeCallError(`allocation "${volume.allocId}" has not ended on this client`);
      const plugin = host.plugins.nodePlugin(request.PluginID);
      if (!plugin) throw new NoSuchPluginError('node', request.PluginID);
      await host.mounter.unmount(plugin, volume, new AbortController().signal);
      return null;
    }),

  /** Waits for the plugin. */
  expand: (request) =>
    answering(CSI_NODE.expand.method, async () => {
      const volume = volumeOf(request);
      const plugin = await host.plugins.nodePluginReady(request.PluginID, new AbortController().signal);
      const options = request.MountOptions ?? { FSType: '', MountFlags: null };
      const secrets = request.Secrets ?? {};
      const bytes = await host.mounter.expand(plugin, { ...volume, options, secrets }, capacityOf(request));
      return { CapacityBytes: jsonBytes(bytes) };
    }),
});

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
