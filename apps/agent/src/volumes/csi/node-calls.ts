import { CLAIM_MODE } from '@waybill/model';
import { CSI_NODE, type CsiAnswers, type NodeDetachVolumeRequest } from '@waybill/rpc';
import type { CsiHost } from './csi-host.js';
import { withCsiErrors, capacityOf } from './controller-calls.js';
import { NoSuchPluginError } from './local-plugins.js';
import { jsonBytes } from './provider-views.js';
import type { MountedVolume } from './volume-mounter.js';

/** NodeCallError says that a request of the servers is incomplete, or would take a volume in use. */
export class NodeCallError extends Error {
  override readonly name = 'NodeCallError';
}

export type NodeAnswers = CsiAnswers<typeof CSI_NODE>;

/** NodeVolumes are the parts of CsiHost that these calls use. */
export interface NodeVolumes extends Pick<CsiHost, 'usesVolumes'> {
  readonly plugins: Pick<CsiHost['plugins'], 'nodePlugin' | 'nodePluginReady'>;
  readonly mounter: Pick<CsiHost['mounter'], 'unmount' | 'expand'>;
}

/**
 * Answers the servers' calls to the volumes of this machine, through its node plugins (VL-246, VL-247). All answers
 * @throws RpcError
 */
export const nodeAnswers = (host: NodeVolumes): NodeAnswers => ({
  /**
   * Unmounts a volume. A volume that is not mounted is a success. Servers that lost contact with the machine may
   * believe that a running allocation has ended. It keeps its disk until it has ended here, too (VL-69).
   */
  detach: (request) =>
    withCsiErrors(CSI_NODE.detach.method, async () => {
      const volume = volumeOf(request);
      if (host.usesVolumes(volume.allocId))
        throw new NodeCallError(`allocation "${volume.allocId}" has not ended on this client`);
      const plugin = host.plugins.nodePlugin(request.PluginID);
      if (!plugin) throw new NoSuchPluginError('node', request.PluginID);
      await host.mounter.unmount(plugin, volume, new AbortController().signal);
      return null;
    }),

  /** Expands a volume. It waits for the plugin. */
  expand: (request) =>
    withCsiErrors(CSI_NODE.expand.method, async () => {
      const volume = volumeOf(request);
      const plugin = await host.plugins.nodePluginReady(request.PluginID, new AbortController().signal);
      const options = request.MountOptions ?? { FSType: '', MountFlags: null };
      const secrets = request.Secrets ?? {};
      const bytes = await host.mounter.expand(plugin, { ...volume, options, secrets }, capacityOf(request));
      return { CapacityBytes: jsonBytes(bytes) };
    }),
});

/** Reads the volume of a request. @throws NodeCallError */
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
