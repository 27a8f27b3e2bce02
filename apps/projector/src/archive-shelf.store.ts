import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { BadArchiveError, unpackArchive } from '@waybill/model/snapshot-archive';
import { makeDirectory } from '@waybill/processes';
import type { TakenArchive } from '@waybill/projection';
import type { ArchiveShelf, ShelvedArchive } from './archive-shelf.js';

const SHELF = { otherwise: 'choose another directory with WAYBILL_ARCHIVE_DIR' };
const UNFINISHED = '.tmp';
const NAME = /^waybill-(\d{1,12})-(\d{1,16})\.snap$/;
const UNFINISHED_NAME = /^waybill-\d+-\d+\.snap\.tmp$/;

/**
 * DirectoryShelf keeps archives as files of one directory, `waybill-<unix seconds>-<index>.snap`. Only their owner may
 * read them: they hold the secrets of machines. It does not touch files of other names.
 */
export class DirectoryShelf implements ArchiveShelf {
  constructor(private readonly dir: string) {}

  async list(): Promise<ShelvedArchive[]> {
    await makeDirectory(this.dir, SHELF);
    return (await readdir(this.dir))
      .flatMap(shelved)
      .toSorted((a, b) => a.index - b.index || a.takenAtMs - b.takenAtMs);
  }

  async isWhole({ name }: ShelvedArchive): Promise<boolean> {
    try {
      await unpackArchive(await readFile(path.join(this.dir, name)));
      return true;
    } catch (error) {
      if (error instanceof BadArchiveError) return false;
      throw error;
    }
  }

  /**
   * Writes an archive. A crash at any moment leaves no file, a whole file, or an unfinished file, which the next `put`
   * removes.
   */
  async put({ meta, bytes }: TakenArchive, takenAtMs: number): Promise<ShelvedArchive> {
    await makeDirectory(this.dir, SHELF);
    await this.removeUnfinished();
    const takenAtS = Math.floor(takenAtMs / 1000);
    const name = `waybill-${takenAtS}-${meta.Index}.snap`;
    const file = path.join(this.dir, name);
    const handle = await open(file + UNFINISHED, 'w', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(file + UNFINISHED, file);
    await this.flushDirectory();
    return { name, index: meta.Index, takenAtMs: takenAtS * 1000 };
  }

  async remove({ name }: ShelvedArchive): Promise<void> {
    await rm(path.join(this.dir, name), { force: true });
  }

  private async removeUnfinished(): Promise<void> {
    for (const name of await readdir(this.dir))
      if (UNFINISHED_NAME.test(name)) await rm(path.join(this.dir, name), { force: true });
  }

  /** Flushes the directory, because a rename is durable only when its directory is. */
  private async flushDirectory(): Promise<void> {
    const handle = await open(this.dir, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

function shelved(name: string): ShelvedArchive[] {
  const [, takenAtS, index] = NAME.exec(name) ?? [];
  return takenAtS === undefined ? [] : [{ name, index: Number(index), takenAtMs: Number(takenAtS) * 1000 }];
}
