import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { UNFINISHED } from '../durable-files/durable-file.store.js';
import { below, entryName, pathName } from '../paths/path-name.js';
import type { NetworkRecord, NetworkRecords } from './network-record.js';

const SUFFIX = '.json';

/**
 * NetworkRecordStore keeps one file per allocation with a network, `<agent's directory>/cni/<allocation ID>.json`
 * (NW-59). A write replaces the whole file and is not flushed, because a power cut also removes the namespaces, rules
 * and leases. Cost of a write: less than a millisecond.
 */
export class NetworkRecordStore implements NetworkRecords {
  constructor(
    private readonly directory: string,
    private readonly logger: Logger,
  ) {}

  load(allocId: string): Promise<NetworkRecord | null> {
    return this.readRecord(this.fileOf(allocId));
  }

  async save(record: NetworkRecord): Promise<void> {
    const file = this.fileOf(record.allocId);
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    await writeFile(file + UNFINISHED, JSON.stringify(record), { mode: 0o600 });
    await rename(file + UNFINISHED, file);
  }

  async remove(allocId: string): Promise<void> {
    await rm(this.fileOf(allocId), { force: true });
  }

  async all(): Promise<readonly NetworkRecord[]> {
    const names = await readdir(this.directory).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT')) return [];
      throw error;
    });
    const records = await Promise.all(
      names
        .filter((name) => name.endsWith(SUFFIX))
        .map((name) => this.readRecord(below(this.directory, entryName(name)))),
    );
    return records.filter((record) => record !== null);
  }

  private async readRecord(file: string): Promise<NetworkRecord | null> {
    try {
      const record = JSON.parse(await readFile(file, 'utf8')) as NetworkRecord;
      if (record.version !== 1 || !record.allocId) throw new Error('it is no record of a network');
      return record;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return null;
      this.logger.error('the record of a network cannot be read and is left out', { file, error });
      return null;
    }
  }

  /** @throws UnsafeNameError */
  private fileOf(allocId: string): string {
    return below(this.directory, pathName(allocId + SUFFIX, 'the allocation'));
  }
}
