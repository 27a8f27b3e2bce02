import type { PluginRecord } from '@waybill/plugins';
import { JsonListFile } from '../durable-files/json-list.store.js';

export interface NamedRecord extends PluginRecord {
  /** The name of the plugin's file. */
  readonly name: string;
}

/** PluginRecords keeps the running plugins on disk, for the next agent (PG-71). Each change writes one small file. */
export class PluginRecords {
  private constructor(
    private readonly file: JsonListFile<NamedRecord>,
    private readonly records: Map<string, NamedRecord>,
  ) {}

  static async load(file: string): Promise<PluginRecords> {
    const list = new JsonListFile<NamedRecord>(file);
    return new PluginRecords(list, new Map((await list.load()).map((record) => [record.name, record])));
  }

  get(name: string): PluginRecord | undefined {
    return this.records.get(name);
  }

  get all(): readonly NamedRecord[] {
    return [...this.records.values()];
  }

  async put(name: string, record: PluginRecord): Promise<void> {
    this.records.set(name, { ...record, name });
    await this.file.save(this.all);
  }

  async remove(name: string): Promise<void> {
    if (this.records.delete(name)) await this.file.save(this.all);
  }
}
