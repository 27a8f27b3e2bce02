import { type ControllerClient, type CreateVolume, CsiError, type VolumeUse } from '@waybill/csi';
import {
  type MountOptions,
  Turns,
  type TopologyRequest,
  type VolumeCapability,
  errorText,
  isRefusal,
} from '@waybill/model';
import { CSI_CONTROLLER, type CsiAnswers, type CsiCall, RpcError } from '@waybill/rpc';
import type { CsiHost } from './csi-host.js';
import { checkConfirmed } from './confirmed-uses.js';
import { externalSnapshot, externalVolume, jsonBytes } from './provider-views.js';

type Controller = Pick<ControllerClient, keyof ControllerClient>;

export type ControllerAnswers = CsiAnswers<typeof CSI_CONTROLLER>;

/**
 * Answers the servers' calls to the controller plugins of this machine (volumes.md 3.12). Calls that change something
 * go to a plugin one after the other, even if a server that has lost its role still sends some (VL-131). Reads,
 * validations and creates do not wait (VL-130). It keeps no other state. All answers
 * @throws RpcError
 */
export function controllerAnswers({ plugins }: Pick<CsiHost, 'plugins'>): ControllerAnswers {
  const turns = new Turns();

  /** Makes the answer to a call, which goes to the plugin that the request names. */
  function by<Req extends { readonly PluginID: string }, Res>(
    { method, inTurn }: CsiCall<Req, Res>,
    work: (controller: Controller, request: Req) => Promise<Res>,
  ): (request: Req) => Promise<Res> {
    const answer = (request: Req): Promise<Res> =>
      withCsiErrors(method, async () => work(plugins.controller(request.PluginID), request));
    return inTurn ? (request) => turns.runInTurn(request.PluginID, () => answer(request)) : answer;
  }

  return {
    attach: by(CSI_CONTROLLER.attach, async (controller, request) => ({
      PublishContext: await controller.attach({
        volumeId: request.VolumeID,
        nodeId: request.ClientCSINodeID,
        readonly: request.ReadOnly,
        use: useOf(request, request.MountOptions),
        secrets: request.Secrets ?? {},
        volumeContext: request.VolumeContext ?? {},
      }),
    })),
    detach: by(CSI_CONTROLLER.detach, async (controller, request) => {
      const { VolumeID: volumeId, ClientCSINodeID: nodeId, Secrets } = request;
      await controller.detach({ volumeId, nodeId, secrets: Secrets ?? {} });
      return null;
    }),
    /** Validates the uses of a volume. A plugin that answers without a confirmation confirms all of them (VL-20). */
    validate: by(CSI_CONTROLLER.validate, async (controller, request) => {
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
    }),
    create: by(CSI_CONTROLLER.create, async (controller, request) => {
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
    }),
    delete: by(CSI_CONTROLLER.delete, async (controller, request) => {
      await controller.deleteVolume(request.ExternalVolumeID, request.Secrets ?? {});
      return null;
    }),
    expand: by(CSI_CONTROLLER.expand, async (controller, request) => {
      const { VolumeCapability: capability, MountOptions } = request;
      const { capacityBytes, nodeExpansionRequired } = await controller.expand({
        volumeId: request.ExternalVolumeID,
        capacity: capacityOf(request),
        use: capability && useOf(capability, MountOptions),
        secrets: request.Secrets ?? {},
      });
      return { CapacityBytes: jsonBytes(capacityBytes), NodeExpansionRequired: nodeExpansionRequired };
    }),
    list: by(CSI_CONTROLLER.list, async (controller, request) => {
      const page = { maxEntries: request.MaxEntries, startingToken: request.StartingToken };
      const { entries, nextToken } = await controller.listVolumes(page);
      return { Entries: entries.map((one) => externalVolume(one)), NextToken: nextToken };
    }),
    createSnapshot: by(CSI_CONTROLLER.createSnapshot, async (controller, request) =>
      externalSnapshot(
        await controller.createSnapshot({
          sourceVolumeId: request.VolumeID,
          name: request.Name,
          parameters: request.Parameters ?? {},
          secrets: request.Secrets ?? {},
        }),
      ),
    ),
    deleteSnapshot: by(CSI_CONTROLLER.deleteSnapshot, async (controller, request) => {
      await controller.deleteSnapshot(request.ID, request.Secrets ?? {});
      return null;
    }),
    listSnapshots: by(CSI_CONTROLLER.listSnapshots, async (controller, request) => {
      const page = { maxEntries: request.MaxEntries, startingToken: request.StartingToken };
      const { entries, nextToken } = await controller.listSnapshots({ ...page, secrets: request.Secrets ?? {} });
      return { Entries: entries.map((one) => externalSnapshot(one)), NextToken: nextToken };
    }),
  };
}

/** Adds the agent's own part to the text of an error (VL-133). A plugin's refusal is not an error of this process. */
export async function withCsiErrors<T>(method: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new RpcError(mayPass(error) ? 'retryable' : 'internal', `CSI.${method}: ${errorText(error)}`);
  }
}

/** Says whether another attempt, or another instance of the plugin, may succeed (VL-252). */
const mayPass = (error: unknown): boolean =>
  error instanceof CsiError ? error.isRetryable : isRefusal(error, 'retryable');

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
