import { CLAIM_MODE } from '@waybill/model';
import { CSI_NODE, type CsiAnswers, type NodeDetachVolumeRequest } from '@waybill/rpc';
import type { CsiHost } from './csi-host.js';
import { answering, capacityOf } from './controller-calls.js';
import { NoSuchPluginError } from './local-plugins.js';
import { jsonBytes } from './provider-views.js';
import type { MountedVolume } from './volume-mounter.js';

/** A request of the servers that names too little. */
export class NodeCallError extends Error {
  override readonly name = 'NodeCallError';
}

export type NodeAnswers = CsiAnswers<typeof CSI_NODE>;

/** What the servers have done to the volumes of this machine through its node plugins (VL-246, VL-247). All @throws RpcError */
export const nodeAnswers = ({ plugins, mounter }: Pick<CsiHost, 'plugins' | 'mounter'>): NodeAnswers => ({
  /** Of what is not mounted it is a success. */
  detach: (request) =>
    answering(CSI_NODE.detach.method, async () => {
      const volume = volumeOf(request);
      const plugin = plugins.nodePlugin(request.PluginID);
      if (!plugin) throw new NoSuchPluginError('node', request.PluginID);
      await mounter.unmount(plugin, volume, new AbortController().signal);
      return null;
    }),

  /** Waits for the plugin. */
  expand: (request) =>
    answering(CSI_NODE.expand.method, async () => {
      const volume = volumeOf(request);
      const plugin = await plugins.nodePluginReady(request.PluginID, new AbortController().signal);
      const options = request.MountOptions ?? { FSType: '', MountFlags: null };
      const secrets = request.Secrets ?? {};
      const bytes = await mounter.expand(plugin, { ...volume, options, secrets }, capacityOf(request));
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
