import type { CSIInfo, Node, NodeEvent, NodeHostVolume } from '@waybill/model';

type PluginMap = 'CSIControllerPlugins' | 'CSINodePlugins';

/** Something that happened on this machine, for its history at the servers. */
export type LocalEvent = Pick<NodeEvent, 'Subsystem' | 'Message' | 'Details'>;

/**
 * The machine as it is now. Most of it is read once when the agent starts; what its storage plugins say, and its host
 * volumes, change while it runs. Immutable values: a change makes a new one.
 */
export class LocalNode {
  private node: Node;
  private readonly listeners: (() => void)[] = [];

  constructor(described: Node) {
    this.node = described;
  }

  get current(): Node {
    return this.node;
  }

  /** Called when the servers have to hear of a change. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /**
   * What a side of a plugin says of itself (VL-217). A look that finds nothing new is no change.
   * @returns what happened: its health or the description of that changed; undefined: neither, or it is the first report
   */
  plugin(side: 'controller' | 'node', info: CSIInfo): LocalEvent | undefined {
    const map: PluginMap = side === 'controller' ? 'CSIControllerPlugins' : 'CSINodePlugins';
    const before = this.node[map][info.PluginID];
    if (before && withoutTime(before) === withoutTime(info)) return undefined;
    this.change({ [map]: { ...this.node[map], [info.PluginID]: info } });
    if (!before || (before.Healthy === info.Healthy && before.HealthDescription === info.HealthDescription))
      return undefined;
    return { Subsystem: 'CSI', Message: info.HealthDescription, Details: { plugin: info.PluginID, type: side } };
  }

  /** All that this machine has (VL-289). */
  hostVolumes(HostVolumes: Readonly<Record<string, NodeHostVolume>>): void {
    this.change({ HostVolumes });
  }

  /** All of its metadata (AG-27). */
  meta(Meta: Readonly<Record<string, string>>): void {
    this.change({ Meta });
  }

  private change(over: Partial<Node>): void {
    this.node = { ...this.node, ...over };
    for (const listener of this.listeners) listener();
  }
}

const withoutTime = (info: CSIInfo): string => JSON.stringify({ ...info, UpdateTime: null });
