import { readFile, rm } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { writeDurably } from '../../durable-files/durable-file.store.js';
import { below } from '../../paths/path-name.js';
import type { IdentityStore } from './machine-credential.js';

/**
 * NodeIdentityFile keeps the signed identity in one file of the agent's directory, which only the owner may read. If the
 * file cannot be read, it logs an error, and the machine proves itself by its secret.
 */
export class NodeIdentityFile implements IdentityStore {
  private readonly file: string;

  constructor(
    dir: string,
    private readonly logger: Logger,
  ) {
    this.file = below(dir, 'node-identity.jwt');
  }

  async load(): Promise<string | undefined> {
    try {
      return (await readFile(this.file, 'utf8')).trim() || undefined;
    } catch (error) {
      if (!isErrno(error, 'ENOENT'))
        this.logger.error('the signed identity of this machine cannot be read', { file: this.file, error });
      return undefined;
    }
  }

  save(token: string): Promise<void> {
    return writeDurably(this.file, token);
  }

  remove(): Promise<void> {
    return rm(this.file, { force: true });
  }
}
