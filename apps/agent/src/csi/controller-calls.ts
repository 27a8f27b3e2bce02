import type { ControllerClient, CreateVolume, VolumeUse } from '@waybill/csi';
import { type MountOptions, Turns, type TopologyRequest, type VolumeCapability } from '@waybill/model';
import {
  type ControllerAttachVolumeRequest,
  type ControllerAttachVolumeResponse,
  type ControllerCreateSnapshotRequest,
  type ControllerCreateVolumeRequest,
  type ControllerCreateVolumeResponse,
  type ControllerDeleteSnapshotRequest,
  type ControllerDeleteVolumeRequest,
  type ControllerDetachVolumeRequest,
  type ControllerExpandVolumeRequest,
  type ControllerExpandVolumeResponse,
  type ControllerListSnapshotsRequest,
  type ControllerListSnapshotsResponse,
  type ControllerListVolumesRequest,
  type ControllerListVolumesResponse,
  type ControllerValidateVolumeRequest,
  type ExternalSnapshot,
  RpcError,
} from '@waybill/rpc';
import type { CsiHost } from './csi-host.js';
import { checkConfirmed } from './confirmed-uses.js';
import { externalSnapshot, externalVolume, jsonBytes } from './provider-views.js';

type Controller = Pick<ControllerClient, keyof ControllerClient>;

/**
 * What the servers have done through the controller plugins of this machine (volumes.md 3.12). Calls that change
 * something go to a plugin one after the other, also when a server that has lost its role is still asking (VL-131);
 * reads, validations and creates do not wait (VL-130). Stateless beside that. All @throws RpcError
 */
export class ControllerCalls {
  private readonly turns = new Turns();

  constructor(private readonly host: Pick<CsiHost, 'plugins'>) {}

  attach(request: ControllerAttachVolumeRequest): Promise<ControllerAttachVolumeResponse> {
    return this.inTurn('ControllerAttachVolume', request.PluginID, async (controller) => ({
      PublishContext: await controller.attach({
        volumeId: request.VolumeID,
        nodeId: request.ClientCSINodeID,
        readonly: request.ReadOnly,
        use: useOf(request, request.MountOptions),
        secrets: request.Secrets ?? {},
        volumeContext: request.VolumeContext ?? {},
      }),
    }));
  }

  detach(request: ControllerDetachVolumeRequest): Promise<null> {
    const { VolumeID: volumeId, ClientCSINodeID: nodeId, Secrets } = request;
    return this.inTurn('ControllerDetachVolume', request.PluginID, async (controller) => {
      await controller.detach({ volumeId, nodeId, secrets: Secrets ?? {} });
      return null;
    });
  }

  /** VL-20: no confirmation at all counts as one. */
  validate(request: ControllerValidateVolumeRequest): Promise<null> {
    return this.call('ControllerValidateVolume', request.PluginID, async (controller) => {
      const uses = request.VolumeCapabilities.map((one) => useOf(one, null));
      const { confirmed } = await controller.validate({
        volumeId: request.VolumeID,
        uses,
        parameters: request.Parameters ?? {},
        secrets: request.Secrets ?? {},
        volumeContext: request.VolumeContext ?? {},
      });
      if (confirmed) checkConfirmed(uses, confirmed.uses);
      return null;
    });
  }

  create(request: ControllerCreateVolumeRequest): Promise<ControllerCreateVolumeResponse> {
    return this.call('ControllerCreateVolume', request.PluginID, async (controller) => {
      const made = await controller.createVolume({
        name: request.Name,
        capacity: capacityOf(request),
        uses: request.VolumeCapabilities.map((one) => useOf(one, request.MountOptions)),
        parameters: request.Parameters ?? {},
        secrets: request.Secrets ?? {},
        cloneId: request.CloneID,
        snapshotId: request.SnapshotID,
        topologies: topologiesOf(request.RequestedTopologies),
      });
      return {
        ExternalVolumeID: made.volumeId,
        CapacityBytes: jsonBytes(made.capacityBytes),
        VolumeContext: made.context,
        CloneID: made.cloneId,
        SnapshotID: made.snapshotId,
        Topologies: made.topologies.map((Segments) => ({ Segments: { ...Segments } })),
      };
    });
  }

  delete(request: ControllerDeleteVolumeRequest): Promise<null> {
    return this.inTurn('ControllerDeleteVolume', request.PluginID, async (controller) => {
      await controller.deleteVolume(request.ExternalVolumeID, request.Secrets ?? {});
      return null;
    });
  }

  expand(request: ControllerExpandVolumeRequest): Promise<ControllerExpandVolumeResponse> {
    const { VolumeCapability: capability, MountOptions } = request;
    return this.inTurn('ControllerExpandVolume', request.PluginID, async (controller) => {
      const { capacityBytes, nodeExpansionRequired } = await controller.expand({
        volumeId: request.ExternalVolumeID,
        capacity: capacityOf(request),
        use: capability && useOf(capability, MountOptions),
        secrets: request.Secrets ?? {},
      });
      return { CapacityBytes: jsonBytes(capacityBytes), NodeExpansionRequired: nodeExpansionRequired };
    });
  }

  list(request: ControllerListVolumesRequest): Promise<ControllerListVolumesResponse> {
    const page = { maxEntries: request.MaxEntries, startingToken: request.StartingToken };
    return this.call('ControllerListVolumes', request.PluginID, async (controller) => {
      const { entries, nextToken } = await controller.listVolumes(page);
      return { Entries: entries.map((one) => externalVolume(one)), NextToken: nextToken };
    });
  }

  createSnapshot(request: ControllerCreateSnapshotRequest): Promise<ExternalSnapshot> {
    return this.inTurn('ControllerCreateSnapshot', request.PluginID, async (controller) =>
      externalSnapshot(
        await controller.createSnapshot({
          sourceVolumeId: request.VolumeID,
          name: request.Name,
          parameters: request.Parameters ?? {},
          secrets: request.Secrets ?? {},
        }),
      ),
    );
  }

  deleteSnapshot(request: ControllerDeleteSnapshotRequest): Promise<null> {
    return this.inTurn('ControllerDeleteSnapshot', request.PluginID, async (controller) => {
      await controller.deleteSnapshot(request.ID, request.Secrets ?? {});
      return null;
    });
  }

  listSnapshots(request: ControllerListSnapshotsRequest): Promise<ControllerListSnapshotsResponse> {
    const page = { maxEntries: request.MaxEntries, startingToken: request.StartingToken };
    return this.call('ControllerListSnapshots', request.PluginID, async (controller) => {
      const { entries, nextToken } = await controller.listSnapshots({ ...page, secrets: request.Secrets ?? {} });
      return { Entries: entries.map((one) => externalSnapshot(one)), NextToken: nextToken };
    });
  }

  /** VL-129. */
  private inTurn<T>(method: string, pluginId: string, work: (controller: Controller) => Promise<T>): Promise<T> {
    return this.turns.take(pluginId, () => this.call(method, pluginId, work));
  }

  private call<T>(method: string, pluginId: string, work: (controller: Controller) => Promise<T>): Promise<T> {
    return answering(method, async () => work(this.host.plugins.controller(pluginId)));
  }
}

/** VL-133: the agent's own part of the text. What a plugin refuses is no fault of this process. */
export async function answering<T>(method: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new RpcError('internal', `CSI.${method}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const useOf = ({ AttachmentMode, AccessMode }: VolumeCapability, options: MountOptions | null): VolumeUse => ({
  attachmentMode: AttachmentMode,
  accessMode: AccessMode,
  fsType: options?.FSType ?? '',
  mountFlags: options?.MountFlags ?? [],
});

export const capacityOf = (request: { readonly CapacityMin: number; readonly CapacityMax: number }) => ({
  requiredBytes: BigInt(request.CapacityMin),
  limitBytes: BigInt(request.CapacityMax),
});

function topologiesOf(requested: TopologyRequest | null): NonNullable<CreateVolume['topologies']> {
  const segments = (all: TopologyRequest['Required']) => (all ?? []).map(({ Segments }) => Segments ?? {});
  return { required: segments(requested?.Required ?? null), preferred: segments(requested?.Preferred ?? null) };
}
