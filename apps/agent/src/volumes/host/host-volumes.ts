import { type NodeHostVolume, Turns } from '@waybill/model';
import type { CreatedOnNode, HostVolumeOnNode } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { Gate } from '../../waiting/gate.js';
import type { LocalNode } from '../../machine/node/local-node.js';
import { type HostVolumePlugin, HostVolumeRefusal } from './host-volume-plugin.js';

/** The format of an ID. It is checked because the ID becomes a part of paths. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** HostVolumeRecord is a volume of this machine on disk. */
export interface HostVolumeRecord {
  readonly volume: HostVolumeOnNode;
  /** Whether the directory existed before, so that no plugin has made it (VL-291). */
  readonly isRegistered: boolean;
}

export interface HostVolumeRecords {
  load(): Promise<readonly HostVolumeRecord[]>;
  save(all: readonly HostVolumeRecord[]): Promise<void>;
}

export interface HostVolumesDependencies {
  readonly node: LocalNode;
  readonly plugins: ReadonlyMap<string, HostVolumePlugin>;
  readonly records: HostVolumeRecords;
  readonly exists: (path: string) => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * HostVolumes holds the dynamic host volumes of this machine (3.30), in memory, on disk and in the node's report.
 *
 * `start` restores the recorded volumes (VL-297). A volume that cannot be restored is kept but not reported, and its
 * name stays taken. Requests wait until the records are loaded. One operation at a time per volume, and that of `start`
 * comes first. A volume is reported once it is on disk here. Memory: the volumes of this machine.
 */
export class HostVolumes {
  /** The records on disk, by ID. */
  private records: ReadonlyMap<string, HostVolumeRecord> = new Map();
  /** IDs of volumes that are not usable now. */
  private readonly missing = new Set<string>();
  /** The IDs of volumes that are being made, by name. */
  private readonly coming = new Map<string, string>();
  private readonly loaded = new Gate();
  private readonly turns = new Turns();
  private readonly writes = new Turns();
  private readonly fromConfiguration: Readonly<Record<string, NodeHostVolume>>;

  constructor(private readonly deps: HostVolumesDependencies) {
    this.fromConfiguration = deps.node.current.HostVolumes;
  }

  /** Restores the volumes that are on disk here. A volume that fails is logged and not reported (VL-297). */
  async start(): Promise<void> {
    this.records = new Map((await this.deps.records.load()).map((record) => [record.volume.ID, record]));
    const restored = [...this.records].map(([id, record]) => this.turns.runInTurn(id, () => this.restore(record)));
    this.loaded.open();
    if (restored.length === 0) return;
    await Promise.all(restored);
    this.reportVolumes();
  }

  /** Creates a volume with its plugin and records it (VL-289). @throws HostVolumeRefusal */
  create(volume: HostVolumeOnNode): Promise<CreatedOnNode> {
    return this.runForVolume(volume, async () => {
      const plugin = this.pluginOf(volume);
      const made = await plugin.create(volume);
      // A volume that the servers know as made may contain data, even without a record here.
      const isNew = !this.records.has(volume.ID) && volume.HostPath === '';
      await this.saveRecord(volume.ID, { volume: { ...volume, HostPath: made.HostPath }, isRegistered: false }).catch(
        async (error: unknown) => {
          if (isNew) await plugin.delete({ ...volume, HostPath: made.HostPath });
          throw error;
        },
      );
      return made;
    });
  }

  /** Records a directory that exists already as a volume (VL-291). @throws HostVolumeRefusal */
  register(volume: HostVolumeOnNode): Promise<void> {
    return this.runForVolume(volume, async () => {
      await this.refuseMissing(volume.HostPath);
      await this.saveRecord(volume.ID, { volume, isRegistered: true });
    });
  }

  /**
   * Deletes a volume. Without a plugin, its data belongs to the operator and stays (VL-305).
   * @throws HostVolumeRefusal
   */
  async delete(volume: HostVolumeOnNode): Promise<void> {
    await this.runInTurn(volume.ID, async () => {
      if (volume.PluginID !== '') await this.pluginOf(volume).delete(volume);
      if (this.records.has(volume.ID)) await this.saveRecord(volume.ID, undefined);
    });
  }

  /** Runs an operation on a volume in turn. @throws HostVolumeRefusal */
  private async runInTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const key = checkedId(id);
    await this.loaded.opened;
    return await this.turns.runInTurn(key, work);
  }

  /** Runs one operation at a time for a volume, and refuses a second volume of the same name (VL-290). */
  private async runForVolume<T>({ ID, Name }: HostVolumeOnNode, work: () => Promise<T>): Promise<T> {
    return await this.runInTurn(ID, async () => {
      if (this.isNameTaken(Name, ID)) throw new HostVolumeRefusal('volume name already exists on this node');
      this.coming.set(Name, ID);
      try {
        return await work();
      } finally {
        this.coming.delete(Name);
      }
    });
  }

  private isNameTaken(name: string, id: string): boolean {
    if (Object.hasOwn(this.fromConfiguration, name) || this.coming.has(name)) return true;
    return [...this.records.values()].some(({ volume }) => volume.Name === name && volume.ID !== id);
  }

  private pluginOf({ PluginID }: HostVolumeOnNode): HostVolumePlugin {
    const plugin = this.deps.plugins.get(PluginID);
    if (!plugin) throw new HostVolumeRefusal(`no such plugin "${PluginID}"`);
    return plugin;
  }

  private async refuseMissing(path: string): Promise<void> {
    if (!(await this.deps.exists(path))) throw new HostVolumeRefusal(`there is no ${path} on this node`);
  }

  /** Changes a record on disk, then in memory, then in the report. @param record undefined removes it */
  private saveRecord(id: string, record: HostVolumeRecord | undefined): Promise<void> {
    return this.writes.runInTurn('', async () => {
      const after = new Map(this.records);
      if (record) after.set(id, record);
      else after.delete(id);
      await this.deps.records.save([...after.values()]);
      this.records = after;
      this.missing.delete(id);
      this.reportVolumes();
    });
  }

  private async restore({ volume, isRegistered }: HostVolumeRecord): Promise<void> {
    try {
      if (Object.hasOwn(this.fromConfiguration, volume.Name))
        throw new HostVolumeRefusal('the configuration has a volume of this name');
      if (isRegistered) await this.refuseMissing(volume.HostPath);
      else await this.pluginOf(volume).create(volume);
    } catch (error) {
      this.missing.add(volume.ID);
      this.deps.logger.error('a host volume of this machine cannot be used', { volume: volume.ID, error });
    }
  }

  private reportVolumes(): void {
    const volumes: Record<string, NodeHostVolume> = { ...this.fromConfiguration };
    for (const { volume } of this.records.values()) {
      const { ID, Name, HostPath } = volume;
      if (!this.missing.has(ID)) volumes[Name] = { ID, Name, Path: HostPath, ReadOnly: false };
    }
    this.deps.node.hostVolumes(volumes);
  }
}

/** @throws HostVolumeRefusal */
function checkedId(id: string): string {
  if (!UUID.test(id)) throw new HostVolumeRefusal(`invalid ID "${id}"`);
  return id;
}
