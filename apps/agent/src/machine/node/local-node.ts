import type { CSIInfo, DriverInfo, Node, NodeEvent, NodeHostVolume } from '@waybill/model';

type PluginMap = 'CSIControllerPlugins' | 'CSINodePlugins';

/** Something that happened on this machine, for its history at the servers. */
export type LocalEvent = Pick<NodeEvent, 'Subsystem' | 'Message' | 'Details'>;

/**
 * The machine as it is now. Most of it is read once when the agent starts; what its drivers and storage plugins say, its
 * host volumes and its metadata change while it runs. Immutable values: a change makes a new one.
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
    if (!before || !healthChanged(before, info)) return undefined;
    return { Subsystem: 'CSI', Message: info.HealthDescription, Details: { plugin: info.PluginID, type: side } };
  }

  /**
   * What a driver says of itself (AG-22). A look that finds nothing new is no change. A driver that is not detected any
   * more takes all its attributes with it.
   * @returns what happened: its health or the description of that changed, and there is something to say (AG-23)
   */
  driver(name: string, info: DriverInfo): LocalEvent | undefined {
    const before = this.node.Drivers[name];
    if (before && withoutTime(before) === withoutTime(info)) return undefined;
    const others = Object.entries(this.node.Attributes).filter(([key]) => !(key in (before?.Attributes ?? {})));
    this.change({
      Drivers: { ...this.node.Drivers, [name]: info },
      Attributes: { ...Object.fromEntries(others), ...info.Attributes },
    });
    if (!before || !healthChanged(before, info) || info.HealthDescription === '') return undefined;
    return { Subsystem: 'Driver', Message: info.HealthDescription, Details: { driver: name } };
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

/** What drivers and plugins have in common. */
type Health = Pick<CSIInfo, 'Healthy' | 'HealthDescription'>;

const healthChanged = (before: Health, now: Health): boolean =>
  before.Healthy !== now.Healthy || before.HealthDescription !== now.HealthDescription;

const withoutTime = (info: Health & { UpdateTime: string | null }): string =>
  JSON.stringify({ ...info, UpdateTime: null });
