import type { Author } from '@waybill/writing';
import {
  CLAIM_MODE,
  CLAIM_STATE,
  isClientTerminal,
  remoteIdOf,
  type CSIVolume,
  type CSIVolumeClaim,
  Refusal,
  errorText,
} from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import { CSI_CONTROLLER, CSI_NODE } from '@waybill/rpc';
import { namespacedKey, releaseClaim, volumeWithEndedClaims, whyReleaseIsOutdated, type Tables } from '@waybill/state';
import { type Span, traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';
import { AllocationRevivedError, VolumeStepError } from '../commands/errors.js';
import { controllerCan, controllersLastCould } from '../plugins/controller-abilities.js';
import { externalNodeOf } from '../plugins/external-node-id.js';
import type { PluginCalls } from '../plugins/plugin-calls.js';
import { RequestWriter } from '../commands/request-writer.js';

export interface UnpublishDeps {
  readonly state: Pick<ReplicatedState, 'tables' | 'appliedIndex'>;
  readonly writer: HolderWriter;
  readonly calls: PluginCalls;
  readonly tracer: () => Tracer;
}

/** Which volume, and what the log's entries and the trace say of who wants it. */
export interface Released {
  readonly namespace: string;
  readonly volumeId: string;
  readonly claim: CSIVolumeClaim;
}

/**
 * Gives a claim back: from its machine, then from its provider, then from the state (section 3.11). Agents, the watcher
 * and operators all come through here.
 *
 * A claim goes unpublishing → node-detached → ready-to-free, and each step is written down when it is done; so whoever
 * tries again, after a failure, a crash or a change of leader, goes on where it was. Nothing is written that changes
 * nothing (VL-124). Two at once for one claim are harmless: plugins and state take the second for done (VL-123).
 * What an allocation claims while its earlier claim is being given back, after a restore, is not touched (VL-308).
 * A claim without an allocation stands for all past claims of its machine, and frees none itself (VL-111, VL-157).
 * Stateless. Cost: at most three transactions and two remote calls.
 */
export class UnpublishWorkflow {
  constructor(private readonly deps: UnpublishDeps) {}

  /**
   * Resolves with the index of the last step written, or of the volume if none had to be.
   * @throws Refusal VL-104, AllocationRevivedError, VolumeStepError a step failed: what is done stays done, Refusal
   */
  async run(released: Released, by: Partial<Author> = {}): Promise<number> {
    const { namespace, volumeId, claim } = released;
    if (volumeId === '') throw new Refusal('invalid', 'missing volume ID');
    const attributes = {
      'waybill.volume': volumeId,
      'waybill.namespace': namespace,
      'waybill.alloc': claim.AllocationID,
      'waybill.node': claim.NodeID,
    };
    return await withSpan(
      this.deps.tracer(),
      'volume unpublish',
      { traceparent: by.traceparent, attributes },
      async (span) => {
        const traced = { ...by, traceparent: traceparentOf(span) ?? by.traceparent };
        return await new Steps(this.deps, released, new RequestWriter(this.deps.writer, traced), span).walk();
      },
    );
  }
}

/** One run of the workflow. */
class Steps {
  private claim: CSIVolumeClaim;
  /** The state in which it was seen what is to be released. */
  private readonly asOf: number;

  constructor(
    private readonly deps: UnpublishDeps,
    private readonly released: Released,
    private readonly writer: RequestWriter,
    private readonly span: Span,
  ) {
    this.claim = { ...released.claim, State: firstStateOf(released.claim) };
    this.asOf = deps.state.appliedIndex;
  }

  private get tables(): Tables {
    return this.deps.state.tables;
  }

  async walk(): Promise<number> {
    const hadEnded = !this.isAlive(this.claim.AllocationID);
    await this.checkpoint(this.claim.State); // before any call, so that a crash leaves a trace (VL-105)
    if (this.claim.State === CLAIM_STATE.unpublishing) {
      await this.nodeStep();
      if (hadEnded) this.refuseIfAlive();
      await this.checkpoint(CLAIM_STATE.nodeDetached);
    }
    if (this.claim.State === CLAIM_STATE.nodeDetached) await this.controllerStep();
    if (hadEnded) this.refuseIfAlive();
    await this.checkpoint(CLAIM_STATE.readyToFree);
    if (this.claim.AllocationID === '') await this.write();
    this.span.addEvent('claim released');
    return this.volume().ModifyIndex;
  }

  private isAlive(allocId: string): boolean {
    const alloc = this.tables.allocs.get(allocId);
    return alloc !== undefined && !isClientTerminal(alloc);
  }

  /** One that was given up with its machine runs again when the machine comes back, and keeps its disk (VL-69). */
  private refuseIfAlive(): void {
    const { AllocationID } = this.claim;
    if (this.isAlive(AllocationID)) throw new AllocationRevivedError(AllocationID);
  }

  /** Its plugin would be asked to take a disk away that is in use. */
  private refuseIfOutdated(volume: CSIVolume): void {
    const outdated = whyReleaseIsOutdated(this.tables, volume, this.claim.AllocationID, this.asOf);
    if (outdated !== undefined) throw new Refusal('conflict', outdated);
  }

  /** As it stands now, whatever was deleted or claimed meanwhile. */
  private volume(): CSIVolume {
    const { namespace, volumeId } = this.released;
    const volume = volumeWithEndedClaims(this.tables, namespace, volumeId);
    if (!volume) throw new Refusal('not-found', 'no such volume');
    return volume;
  }

  private async checkpoint(state: CSIVolumeClaim['State']): Promise<void> {
    this.claim = { ...this.claim, State: state };
    const volume = this.volume();
    const stored = this.tables.csi_volumes.get(namespacedKey(volume.Namespace, volume.ID));
    if (this.claim.AllocationID !== '' && releaseClaim(volume, this.claim) !== stored) await this.write();
  }

  private async write(): Promise<void> {
    const { namespace, volumeId } = this.released;
    await this.writer.write('CSIVolumeClaim', { VolumeID: volumeId, Claim: this.claim, AsOf: this.asOf }, namespace);
  }

  /** VL-107 to VL-111. */
  private async nodeStep(): Promise<void> {
    const node = this.tables.nodes.get(this.claim.NodeID);
    if (!node || node.Status === 'down') {
      this.span.addEvent('node step skipped', { reason: node ? 'the node is down' : 'the node is gone' });
      return;
    }
    const volume = this.volume();
    this.refuseIfOutdated(volume);
    const failures: string[] = [];
    for (const claim of this.claimsOnNode(volume)) {
      const failure = await this.detachFromNode(volume, claim);
      if (failure !== undefined) failures.push(failure);
    }
    if (failures.length > 0) throw new VolumeStepError(`could not detach from node: ${failures.join(', ')}`);
    this.span.addEvent('detached from node');
  }

  private claimsOnNode(volume: CSIVolume): CSIVolumeClaim[] {
    if (this.claim.AllocationID !== '') return [volume.PastClaims[this.claim.AllocationID] ?? this.claim];
    return Object.values(volume.PastClaims).filter(({ NodeID }) => NodeID === this.claim.NodeID);
  }

  /** @returns why not */
  private async detachFromNode(volume: CSIVolume, claim: CSIVolumeClaim): Promise<string | undefined> {
    try {
      await this.deps.calls.node(CSI_NODE.detach, this.claim.NodeID, {
        PluginID: volume.PluginID,
        VolumeID: volume.ID,
        Namespace: volume.Namespace,
        ExternalID: remoteIdOf(volume),
        Claim: claim,
      });
      return undefined;
    } catch (error) {
      const text = errorText(error);
      return text.includes('Unknown node') ? undefined : text;
    }
  }

  /** VL-112 to VL-121. */
  private async controllerStep(): Promise<void> {
    const volume = this.volume();
    this.refuseIfOutdated(volume);
    const plugin = this.tables.csi_plugins.get(volume.PluginID);
    if (!(plugin?.ControllerRequired ?? volume.ControllerRequired))
      return this.skipped('the volume needs no controller');
    if (!plugin && controllersLastCould(this.tables, volume.PluginID, 'SupportsAttachDetach') !== false)
      throw new VolumeStepError(`no such plugin: "${volume.PluginID}"`);
    if (!plugin || !controllerCan(plugin, 'SupportsAttachDetach'))
      return this.skipped('the plugin neither attaches nor detaches');
    if (this.isUsedBeside(volume)) return this.skipped('another allocation of the node uses the volume');
    const node = externalNodeOf(this.tables, volume, this.claim);
    if ('gone' in node) return this.skipped('the node is gone and its external ID unknown');
    try {
      await this.deps.calls.controller(CSI_CONTROLLER.detach, {
        PluginID: volume.PluginID,
        VolumeID: remoteIdOf(volume),
        ClientCSINodeID: node.id,
        Secrets: volume.Secrets,
      });
    } catch (error) {
      throw new VolumeStepError(`could not detach from controller: ${errorText(error)}`);
    }
    this.span.addEvent('detached from controller');
  }

  /**
   * VL-113: by another allocation of the machine, until its agent says that it has ended and the machine has unmounted it,
   * which writes down what is not on the disk yet. Its own release detaches the disk then.
   */
  private isUsedBeside(volume: CSIVolume): boolean {
    const claims = [...Object.values(volume.ReadClaims), ...Object.values(volume.WriteClaims)];
    return claims.some(
      ({ AllocationID: id, NodeID }) =>
        id !== this.claim.AllocationID &&
        NodeID === this.claim.NodeID &&
        (this.isAlive(id) || this.isStillMounted(volume, id)),
    );
  }

  /** Of an operator's detach everything that had ended was unmounted a step ago (VL-111). */
  private isStillMounted({ PastClaims }: CSIVolume, allocId: string): boolean {
    return this.claim.AllocationID !== '' && PastClaims[allocId]?.State === CLAIM_STATE.unpublishing;
  }

  private skipped(reason: string): void {
    this.span.addEvent('controller step skipped', { reason });
  }
}

/** VL-105: nothing is taken here. VL-110: whose agent has unmounted it says so, or leaves the mode blank. */
function firstStateOf({ AllocationID, AccessMode, State, Mode }: CSIVolumeClaim): CSIVolumeClaim['State'] {
  if (State !== CLAIM_STATE.taken && State !== CLAIM_STATE.unpublishing) return State;
  const isUnmounted = AllocationID !== '' && AccessMode === '' && Mode !== CLAIM_MODE.gc;
  return isUnmounted ? CLAIM_STATE.nodeDetached : CLAIM_STATE.unpublishing;
}
