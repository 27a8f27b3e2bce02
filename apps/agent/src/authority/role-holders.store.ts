import { readFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import type { RoleTerms } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { writeDurably } from '../durable-files/durable-file.store.js';
import { below } from '../paths/path-name.js';
import type { RoleHoldersStore } from './role-holders.js';

/**
 * RoleHoldersFile keeps the holders of roles in one file of the agent's directory. If the file cannot be read, it logs
 * an error and loads nothing; the servers' next answer tells the holders.
 */
export class RoleHoldersFile implements RoleHoldersStore {
  private readonly file: string;

  constructor(
    dir: string,
    private readonly logger: Logger,
  ) {
    this.file = below(dir, 'role-holders.json');
  }

  async load(): Promise<RoleTerms | undefined> {
    try {
      return JSON.parse(await readFile(this.file, 'utf8')) as RoleTerms;
    } catch (error) {
      if (!isErrno(error, 'ENOENT'))
        this.logger.error('the holders of roles cannot be read', { file: this.file, error });
      return undefined;
    }
  }

  save(terms: RoleTerms): Promise<void> {
    return writeDurably(this.file, JSON.stringify(terms));
  }
}
