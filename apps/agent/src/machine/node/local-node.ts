import { isDeepStrictEqual } from 'node:util';
import type { CSIInfo, DriverInfo, Node, NodeDevice, NodeEvent, NodeHostVolume } from '@waybill/model';

type PluginMap = 'CSIControllerPlugins' | 'CSINodePlugins';

/** LocalEvent is an event on this machine, for the node's history on the servers. */
export type LocalEvent = Pick<NodeEvent, 'Subsystem' | 'Message' | 'Details'>;

/**
 * LocalNode holds the current description of the machine. The agent reads most of it once when it starts. Drivers,
 * storage plugins, host volumes and metadata change while it runs. The values are immutable: a change makes a new one.
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

  /** Registers a listener for changes that the servers have to hear of. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /**
   * Updates one side of a plugin with its own report (VL-217). A report without news changes nothing.
   * @returns the event if the health or its description changed; undefined for no change and for the first report
   */
  plugin(side: 'controller' | 'node', info: CSIInfo): LocalEvent | undefined {
    const map: PluginMap = side === 'controller' ? 'CSIControllerPlugins' : 'CSINodePlugins';
    const before = this.node[map][info.PluginID];
    if (before && withoutTime(before) === withoutTime(info)) return undefined;
    this.updateNode({ [map]: { ...this.node[map], [info.PluginID]: info } });
    if (!before || !healthChanged(before, info)) return undefined;
    return { Subsystem: 'CSI', Message: info.HealthDescription, Details: { plugin: info.PluginID, type: side } };
  }

  /**
   * Updates a driver with its own report (AG-22). A report without news changes nothing. The attributes of a driver
   * that is no longer detected are removed.
   * @returns the event if the health or its description changed and the description is not empty (AG-23)
   */
  driver(name: string, info: DriverInfo): LocalEvent | undefined {
    const before = this.node.Drivers[name];
    if (before && withoutTime(before) === withoutTime(info)) return undefined;
    const others = Object.entries(this.node.Attributes).filter(([key]) => !(key in (before?.Attributes ?? {})));
    this.updateNode({
      Drivers: { ...this.node.Drivers, [name]: info },
      Attributes: { ...Object.fromEntries(others), ...info.Attributes },
    });
    if (!before || !healthChanged(before, info) || info.HealthDescription === '') return undefined;
    return { Subsystem: 'Driver', Message: info.HealthDescription, Details: { driver: name } };
  }

  /** Replaces attributes that one source found before by those that it finds now. Equal ones change nothing. */
  replaceAttributes(before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): void {
    if (isDeepStrictEqual(before, now)) return;
    const others = Object.entries(this.node.Attributes).filter(([key]) => !Object.hasOwn(before, key));
    this.updateNode({ Attributes: { ...Object.fromEntries(others), ...now } });
  }

  /** Replaces all devices of this machine (PG-94). */
  devices(Devices: readonly NodeDevice[]): void {
    this.updateNode({ NodeResources: { ...this.node.NodeResources, Devices: [...Devices] } });
  }

  /** Replaces all host volumes of this machine (VL-289). */
  hostVolumes(HostVolumes: Readonly<Record<string, NodeHostVolume>>): void {
    this.updateNode({ HostVolumes });
  }

  /** Replaces all metadata of this machine (AG-27). */
  meta(Meta: Readonly<Record<string, string>>): void {
    this.updateNode({ Meta });
  }

  private updateNode(over: Partial<Node>): void {
    this.node = { ...this.node, ...over };
    for (const listener of this.listeners) listener();
  }
}

/** Health is the part that drivers and plugins have in common. */
type Health = Pick<CSIInfo, 'Healthy' | 'HealthDescription'>;

const healthChanged = (before: Health, now: Health): boolean =>
  before.Healthy !== now.Healthy || before.HealthDescription !== now.HealthDescription;

const withoutTime = (info: Health & { UpdateTime: string | null }): string =>
  JSON.stringify({ ...info, UpdateTime: null });
