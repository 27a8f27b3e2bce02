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
  isRefusal,
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

/** The volume, and who wants the release, for the transaction and the trace. */
export interface Released {
  readonly namespace: string;
  readonly volumeId: string;
  readonly claim: CSIVolumeClaim;
}

/**
 * Releases a claim: from its machine, then at its provider, then in the state (section 3.11). Agents, the watcher and
 * operators all release claims by this workflow.
 *
 * A claim goes unpublishing → node-detached → ready-to-free. Each step is recorded when it is done, so that an attempt
 * after a failure, a crash or a change of leader continues where the previous one ended. A step that changes nothing is
 * not written (VL-124). Two concurrent releases of one claim are harmless: plugins and state accept the second one as
 * done (VL-123). If an allocation claims the volume again while its earlier claim is being released, after a restore,
 * the new claim stays (VL-308). A claim without an allocation stands for all past claims of its machine and frees none
 * itself (VL-111, VL-157). Stateless. Cost: at most three transactions and two remote calls.
 */
export class UnpublishWorkflow {
  constructor(private readonly deps: UnpublishDeps) {}

  /**
   * Resolves with the index of the last recorded step, or of the volume if there was none.
   * @throws Refusal VL-104; AllocationRevivedError; VolumeStepError if a step failed, and the earlier steps stay done
   */
  async releaseClaim(released: Released, by: Partial<Author> = {}): Promise<number> {
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

/** The steps of one run of the workflow. */
class Steps {
  private claim: CSIVolumeClaim;
  /** Index of the state that showed what must be released. */
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
    await this.checkpoint(this.claim.State); // recorded before any call, so that a crash leaves a trace (VL-105)
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

  /** Refuses the release if the allocation runs again: its machine came back, and it keeps its disk (VL-69). */
  private refuseIfAlive(): void {
    const { AllocationID } = this.claim;
    if (this.isAlive(AllocationID)) throw new AllocationRevivedError(AllocationID);
  }

  /** Refuses a claim that the allocation took anew: its plugin would detach a disk that is in use. */
  private refuseIfOutdated(volume: CSIVolume): void {
    const outdated = whyReleaseIsOutdated(this.tables, volume, this.claim.AllocationID, this.asOf);
    if (outdated !== undefined) throw new Refusal('conflict', outdated);
  }

  /** The volume as it is stored now. @throws Refusal if it was deleted */
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

  /** Detaches the disk from its machine (VL-107 to VL-111). */
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

  /** @returns why the disk could not be detached, undefined if it was */
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
      return isRefusal(error, 'not-found') ? undefined : errorText(error); // the machine has no such node (VL-109)
    }
  }

  /** Detaches the disk at its provider (VL-112 to VL-121). */
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
   * Whether another allocation of the machine uses the disk: until its agent has reported its end and the machine has
   * unmounted the disk, which flushes unwritten data. The release of that allocation then detaches the disk (VL-113).
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

  /**
   * Whether the allocation may still have the disk mounted. In an operator's detach, the previous step unmounted the
   * disk for all ended allocations (VL-111).
   */
  private isStillMounted({ PastClaims }: CSIVolume, allocId: string): boolean {
    return this.claim.AllocationID !== '' && PastClaims[allocId]?.State === CLAIM_STATE.unpublishing;
  }

  private skipped(reason: string): void {
    this.span.addEvent('controller step skipped', { reason });
  }
}

/**
 * State in which a release begins. A release takes no claim (VL-105). An agent that has unmounted the disk says so, or
 * leaves the mode empty (VL-110).
 */
function firstStateOf({ AllocationID, AccessMode, State, Mode }: CSIVolumeClaim): CSIVolumeClaim['State'] {
  if (State !== CLAIM_STATE.taken && State !== CLAIM_STATE.unpublishing) return State;
  const isUnmounted = AllocationID !== '' && AccessMode === '' && Mode !== CLAIM_MODE.gc;
  return isUnmounted ? CLAIM_STATE.nodeDetached : CLAIM_STATE.unpublishing;
}
