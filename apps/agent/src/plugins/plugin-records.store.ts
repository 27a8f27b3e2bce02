import type { PluginRecord } from '@waybill/plugins';
import { JsonListFile } from '../durable-files/json-list.store.js';

export interface NamedRecord extends PluginRecord {
  /** The name of the plugin's file. */
  readonly name: string;
}

/**
 * PluginRecords keeps the running plugins on disk, for the next agent (PG-71). Each change writes one small file, after
 * the change before it: plugins start and end at the same time, and two writes at once would take each other's file.
 */
export class PluginRecords {
  private saving: Promise<unknown> = Promise.resolve();

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
    await this.save();
  }

  async remove(name: string): Promise<void> {
    if (this.records.delete(name)) await this.save();
  }

  private save(): Promise<void> {
    const saved = this.saving.then(() => this.file.save(this.all));
    this.saving = saved.catch(() => {}); // the caller of the failed write gets the error
    return saved;
  }
}
