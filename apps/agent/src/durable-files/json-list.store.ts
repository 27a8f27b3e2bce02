import { readFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { writeDurably } from './durable-file.store.js';

/** A short list in one file of JSON, written whole. */
export class JsonListFile<T> {
  constructor(private readonly file: string) {}

  /** Empty when nothing was ever saved. */
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
