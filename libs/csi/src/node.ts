import { type NodeCapability, nodeCapabilities, type WireServiceCapabilities } from './capabilities.js';
import { CsiAnswerError, explaining, isThere } from './errors.js';
import {
  type ExpandOnNode,
  expandOnNodeRequest,
  type PublishVolume,
  publishRequest,
  type StageVolume,
  stageRequest,
  unpublishRequest,
  unstageRequest,
} from './node-requests.js';
import type { CallOptions, PluginConnection } from './plugin-connection.js';

/** A machine in its node plugin's description. */
export interface NodeInfo {
  /** The provider's ID of the machine. */
  readonly nodeId: string;
  /** 0 for no limit. */
  readonly maxVolumes: bigint;
  readonly topology: Readonly<Record<string, string>> | null;
}

interface WireNodeInfo {
  readonly node_id: string;
  readonly max_volumes_per_node: string;
  readonly accessible_topology: { readonly segments: Record<string, string> } | null;
}

/** The calls that mount volumes on the plugin's machine. All @throws CsiError, and CsiArgumentError before a call. */
export class NodeClient {
  constructor(private readonly connection: PluginConnection) {}

  async capabilities(options?: CallOptions): Promise<ReadonlySet<NodeCapability>> {
    return nodeCapabilities(
      await this.callNode<WireServiceCapabilities>('NodeGetCapabilities', {}, { ...options, tries: 1 }),
    );
  }

  /** @throws CsiAnswerError */
  async info(options?: CallOptions): Promise<NodeInfo> {
    const answer = await this.callNode<WireNodeInfo>('NodeGetInfo', {}, { ...options, tries: 1 });
    if (answer.node_id === '') throw new CsiAnswerError('plugin failed to return nodeid');
    return {
      nodeId: answer.node_id,
      maxVolumes: BigInt(answer.max_volumes_per_node),
      topology: answer.accessible_topology?.segments ?? null,
    };
  }

  async stage(stage: StageVolume, options?: CallOptions): Promise<void> {
    await this.callNode('NodeStageVolume', stageRequest(stage), options);
  }

  async publish(publish: PublishVolume, options?: CallOptions): Promise<void> {
    await this.callNode('NodePublishVolume', publishRequest(publish), options);
  }

  /** Unpublishing a volume that is not published succeeds (VL-251). */
  async unpublish(volumeId: string, targetPath: string, options?: CallOptions): Promise<void> {
    await isThere(this.callNode('NodeUnpublishVolume', unpublishRequest(volumeId, targetPath), options));
  }

  /** Unstaging a volume that is not staged succeeds (VL-251). */
  async unstage(volumeId: string, stagingPath: string, options?: CallOptions): Promise<void> {
    await isThere(this.callNode('NodeUnstageVolume', unstageRequest(volumeId, stagingPath), options));
  }

  /** @returns the size in bytes, or 0 if it is unknown or the volume does not exist (VL-251) */
  async expand(expand: ExpandOnNode, options?: CallOptions): Promise<bigint> {
    let bytes = 0n;
    const answered = this.callNode<{ capacity_bytes: string }>(
      'NodeExpandVolume',
      expandOnNodeRequest(expand),
      options,
    );
    await isThere(answered.then((answer) => (bytes = BigInt(answer.capacity_bytes))));
    return bytes;
  }

  private callNode<Answer>(method: string, request: object, options?: CallOptions): Promise<Answer> {
    return explaining('node', this.connection.call<object, Answer>('Node', method, request, options));
  }
}
