import { readFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { writeDurably } from './durable-file.store.js';

/** JsonListFile keeps a short list in one JSON file. Each save writes the whole file. */
export class JsonListFile<T> {
  constructor(private readonly file: string) {}

  /** Returns the list; it is empty if nothing was ever saved. */
  async load(): Promise<readonly T[]> {
    try {
      return JSON.parse(await readFile(this.file, 'utf8')) as T[];
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return [];
      throw error;
    }
  }

  save(all: readonly T[]): Promise<void> {
    return writeDurably(this.file, JSON.stringify(all));
  }
}
