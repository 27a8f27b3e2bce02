import type { Author } from '@waybill/writing';
import {
  CLAIM_MODE,
  CLAIM_STATE,
  claimOf,
  isClientTerminal,
  remoteIdOf,
  type CSIVolume,
  type CSIVolumeClaim,
  NotHolderError,
  Refusal,
  errorText,
  isRefusal,
} from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import { type AgentClaimRequest, type ClaimVolumeResponse, CSI_CONTROLLER } from '@waybill/rpc';
import { namespacedKey, type Tables } from '@waybill/state';
import { VolumeStepError } from './errors.js';
import { controllerCan } from '../plugins/controller-abilities.js';
import { externalNodeOf } from '../plugins/external-node-id.js';
import { type PluginCalls, RETRYABLE_PREFIX } from '../plugins/plugin-calls.js';
import type { UnpublishWorkflow } from '../releases/unpublish-workflow.js';
import type { VolumeTurns } from '../releases/volume-turns.js';

export interface ClaimCommandDeps {
  readonly state: Pick<ReplicatedState, 'tables' | 'appliedIndex'>;
  readonly writer: HolderWriter;
  readonly calls: PluginCalls;
  readonly unpublish: UnpublishWorkflow;
  readonly turns: VolumeTurns;
}

type PublishContext = Readonly<Record<string, string>>;

/**
 * Claims volumes for the allocations of agents, and releases the claims (section 3.10).
 *
 * The claim is recorded before the disk is attached (VL-95): a claim that the state refuses never reaches the plugin,
 * and a failure between the two steps leaves a claim that the agent releases (VL-101). A repeated request repeats both
 * steps (VL-102). All requests for one claim share its pending plugin call, so that a plugin that hangs gathers no more
 * calls than there are claims.
 */
export class ClaimCommand {
  /** Plugin calls in progress, by claim. */
  private readonly attaching = new Map<string, Promise<PublishContext>>();

  constructor(private readonly deps: ClaimCommandDeps) {}

  private get tables(): Tables {
    return this.deps.state.tables;
  }

  /** @throws Refusal */
  async claim(request: AgentClaimRequest, by: Partial<Author>): Promise<ClaimVolumeResponse> {
    this.authenticate(request);
    const claim = this.newClaim(request);
    const { Namespace: namespace, VolumeID } = request;
    await this.deps.turns.runInTurns(namespace, [VolumeID], async () => {
      this.refuseEnded(claim.AllocationID);
      const AsOf = this.deps.state.appliedIndex;
      await this.deps.writer.write('CSIVolumeClaim', { VolumeID, Claim: claim, AsOf }, namespace, by);
    });
    const volume = this.tables.csi_volumes.get(namespacedKey(namespace, VolumeID));
    if (!volume) throw new Refusal('not-found', `volume not found: ${VolumeID}`);
    return { PublishContext: await this.attachedOnce(volume, claim), Volume: volume };
  }

  private attachedOnce(volume: CSIVolume, claim: CSIVolumeClaim): Promise<PublishContext> {
    const { AllocationID: id } = claim;
    // A claim that was released and taken again meanwhile is another claim (VL-308): its disk may have been detached.
    const { TakenIndex } = volume.ReadClaims[id] ?? volume.WriteClaims[id] ?? {};
    const key = JSON.stringify([volume.Namespace, volume.ID, id, TakenIndex]);
    const attaching = this.attaching.get(key) ?? this.attached(volume, claim).finally(() => this.attaching.delete(key));
    this.attaching.set(key, attaching);
    return attaching;
  }

  /**
   * Refuses the claim if the allocation has ended meanwhile. Its machine may have given up waiting, released the claim
   * and reported the end; the disk would then be attached for no allocation, perhaps after its detachment (VL-101).
   */
  private refuseEnded(allocId: string): void {
    const alloc = this.tables.allocs.get(allocId);
    if (alloc && isClientTerminal(alloc)) throw new Refusal('conflict', `allocation ${allocId} has ended`);
  }

  /** Resolves with the index. @throws PermissionDeniedError and what UnpublishWorkflow throws */
  async release(request: AgentClaimRequest, by: Partial<Author>): Promise<number> {
    this.authenticate(request);
    return await this.deps.unpublish.releaseClaim(
      { namespace: request.Namespace, volumeId: request.VolumeID, claim: this.withNode(claimOf(request)) },
      by,
    );
  }

  /** Checks that the request comes from the machine on which the allocation runs (VL-93). */
  private authenticate({ NodeID, AllocationID, SecretID, Claim }: AgentClaimRequest): void {
    const alloc = this.tables.allocs.get(AllocationID);
    const node = this.tables.nodes.get(NodeID || (alloc?.NodeID ?? ''));
    const isOwn = node !== undefined && node.SecretID === SecretID && (!alloc || alloc.NodeID === node.ID);
    if (!isOwn || Claim === CLAIM_MODE.gc) throw new Refusal('forbidden', 'Permission denied');
  }

  /**
   * The claim with the machine's external ID, so that its disk can be detached when the machine is gone (VL-94, VL-96).
   */
  private newClaim(request: AgentClaimRequest): CSIVolumeClaim {
    if (request.VolumeID === '') throw new Refusal('invalid', 'missing volume ID');
    const claim = this.withNode({ ...claimOf(request), State: CLAIM_STATE.taken });
    const volume = this.tables.csi_volumes.get(namespacedKey(request.Namespace, request.VolumeID));
    if (!volume) return claim; // the state's refusal is the answer (VL-91)
    try {
      const node = externalNodeOf(this.tables, volume, claim);
      return 'id' in node ? { ...claim, ExternalNodeID: node.id } : claim;
    } catch {
      return claim; // only attaching needs the external ID
    }
  }

  private withNode(claim: CSIVolumeClaim): CSIVolumeClaim {
    if (claim.NodeID !== '') return claim;
    const alloc = this.tables.allocs.get(claim.AllocationID);
    if (!alloc) throw new Refusal('not-found', `Unknown allocation: ${claim.AllocationID}`);
    return { ...claim, NodeID: alloc.NodeID };
  }

  /** Attaches the disk if its plugin requires that. Resolves with the publish context (VL-97 to VL-100). */
  private async attached(volume: CSIVolume, claim: CSIVolumeClaim): Promise<PublishContext> {
    const { tables } = this;
    const plugin = tables.csi_plugins.get(volume.PluginID);
    if (!(plugin?.ControllerRequired ?? volume.ControllerRequired)) return {};
    if (plugin && !controllerCan(plugin, 'SupportsAttachDetach')) return {};
    try {
      if (!tables.allocs.has(claim.AllocationID))
        throw new VolumeStepError(`Unknown allocation: ${claim.AllocationID}`);
      const node = externalNodeOf(tables, volume, claim);
      if (!tables.nodes.has(claim.NodeID) || 'gone' in node) throw new VolumeStepError(`Unknown node ${claim.NodeID}`);
      const answer = await this.deps.calls.controller(CSI_CONTROLLER.attach, {
        PluginID: volume.PluginID,
        VolumeID: remoteIdOf(volume),
        ClientCSINodeID: node.id,
        AttachmentMode: claim.AttachmentMode,
        AccessMode: claim.AccessMode,
        MountOptions: volume.MountOptions,
        ReadOnly: claim.Mode === CLAIM_MODE.read,
        Secrets: volume.Secrets,
        VolumeContext: volume.Context,
      });
      return answer.PublishContext;
    } catch (error) {
      const text = errorText(error);
      const isRefusedForNow = text.includes('FailedPrecondition'); // in the plugin's own words (VL-100)
      throw new VolumeStepError(
        `${isRefusedForNow ? RETRYABLE_PREFIX : ''}controller publish: ${text}`,
        isRefusedForNow || mayPass(error) ? 'retryable' : 'internal',
      );
    }
  }
}

/** Whether another claim may not meet the error: an instance of the plugin said so, or this process lost the role. */
const mayPass = (error: unknown): boolean => isRefusal(error, 'retryable') || error instanceof NotHolderError;
