import { readFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { writeDurably } from '../../durable-files/durable-file.store.js';
import type { DynamicMeta, DynamicMetaStore } from './node-meta.js';
import { below } from '../../paths/path-name.js';

/**
 * NodeMetaFile keeps dynamic metadata in one file of the agent's directory. If the file cannot be read, it logs an
 * error and loads no metadata.
 */
export class NodeMetaFile implements DynamicMetaStore {
  private readonly file: string;

  constructor(
    dir: string,
    private readonly logger: Logger,
  ) {
    this.file = below(dir, 'node-meta.json');
  }

  async load(): Promise<DynamicMeta> {
    try {
      return JSON.parse(await readFile(this.file, 'utf8')) as DynamicMeta;
    } catch (error) {
      if (!isErrno(error, 'ENOENT'))
        this.logger.error('metadata that was set on this machine cannot be read', { file: this.file, error });
      return {};
    }
  }

  save(dynamic: DynamicMeta): Promise<void> {
    return writeDurably(this.file, JSON.stringify(dynamic));
  }
}
