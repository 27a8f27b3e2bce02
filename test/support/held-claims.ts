import type { CSIVolume, CSIVolumeClaimRequest, Refusal } from '@waybill/model';
import { CLAIM_MODE, CLAIM_STATE, remoteIdOf } from '@waybill/model';
import type { NatsLink } from '@waybill/journal';
import {
  claimVolume,
  type ClaimVolumeResponse,
  NatsRpc,
  type Rpc,
  RpcError,
  RpcServer,
  unpublishVolume,
  CSI_CONTROLLER,
} from '@waybill/rpc';
import { admittedRpc } from './admitted-rpc.js';

/**
 * In the place of the servers' side of claims: every claim is granted and attached through the controller plugin of the
 * machine that asks. Remembers what it was asked.
 */
export class HeldClaims {
  readonly claimed: CSIVolumeClaimRequest[] = [];
  readonly unpublished: CSIVolumeClaimRequest[] = [];
  /** The next claims are refused with these, one each. */
  readonly refusals: Refusal[] = [];
  readonly volumes = new Map<string, CSIVolume>();
  private readonly rpc: Rpc;
  private readonly server: RpcServer;

  constructor(link: NatsLink) {
    this.rpc = admittedRpc(new NatsRpc(link.nc));
    this.server = new RpcServer(link.nc);
    this.server.addHandler(claimVolume.name, (request: CSIVolumeClaimRequest) => this.claim(request));
    this.server.addHandler(unpublishVolume.name, (request: CSIVolumeClaimRequest) => this.unpublish(request));
    this.server.listen(() => undefined);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  claimsOf(allocId: string): CSIVolumeClaimRequest[] {
    return this.claimed.filter(({ AllocationID }) => AllocationID === allocId);
  }

  unpublishedOf(allocId: string): CSIVolumeClaimRequest[] {
    return this.unpublished.filter(({ AllocationID }) => AllocationID === allocId);
  }

  private async claim(request: CSIVolumeClaimRequest): Promise<ClaimVolumeResponse> {
    this.claimed.push(request);
    const refusal = this.refusals.shift();
    if (refusal) throw refusal;
    const volume = this.volume(request);
    const { PublishContext } = await this.rpc.ask(
      CSI_CONTROLLER.attach.call,
      {
        PluginID: volume.PluginID,
        VolumeID: remoteIdOf(volume),
        ClientCSINodeID: request.NodeID,
        AttachmentMode: request.AttachmentMode,
        AccessMode: request.AccessMode,
        MountOptions: volume.MountOptions,
        ReadOnly: request.Claim === CLAIM_MODE.read,
        VolumeContext: volume.Context,
        Secrets: volume.Secrets,
      },
      { target: request.NodeID },
    );
    return { PublishContext, Volume: volume };
  }

  private async unpublish(request: CSIVolumeClaimRequest): Promise<{ Index: number }> {
    this.unpublished.push(request);
    const volume = this.volume(request);
    const { PluginID, Secrets } = volume;
    if (request.State === CLAIM_STATE.nodeDetached) {
      const of = { PluginID, VolumeID: remoteIdOf(volume), ClientCSINodeID: request.NodeID, Secrets };
      await this.rpc.ask(CSI_CONTROLLER.detach.call, of, { target: request.NodeID });
    }
    return { Index: 1 };
  }

  private volume({ VolumeID }: CSIVolumeClaimRequest): CSIVolume {
    const volume = this.volumes.get(VolumeID);
    if (!volume) throw new RpcError('not-found', `volume not found: ${VolumeID}`);
    return volume;
  }
}
