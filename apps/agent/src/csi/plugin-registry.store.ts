import { readFile } from 'node:fs/promises';
import { isErrno } from '../drivers/process-identity.js';
import { writeDurably } from '../durable-file.store.js';
import type { PluginRegistration, PluginRegistrations } from './plugin-registry.js';

/** The registry as one file of JSON. */
export class PluginRegistrationsFile implements PluginRegistrations {
  constructor(private readonly file: string) {}

  async load(): Promise<readonly PluginRegistration[]> {
    try {
      return JSON.parse(await readFile(this.file, 'utf8')) as PluginRegistration[];
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return [];
      throw error;
    }
  }

  save(all: readonly PluginRegistration[]): Promise<void> {
    return writeDurably(this.file, JSON.stringify(all));
  }
}
