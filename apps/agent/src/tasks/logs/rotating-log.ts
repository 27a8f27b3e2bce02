import { constants, type FileHandle, lstat, mkdir, rename, unlink } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { NotPlainError } from '../../paths/plain-file.store.js';
import { deletedBytesFile, logNumbers, openInLogs, openLogs } from './log-file-names.js';
import { type DeletedPart, deletedPart } from './log-parts.js';
import type { OpenDirectory } from '../../paths/open-directory.store.js';
import { pathName } from '../../paths/path-name.js';

/** A file ends at the end of a line, if there is one within this distance of the size limit (AG-241). */
export const NEAR_LINE_END_BYTES = 32 * 1024;
const NEWLINE = 0x0a;
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
const REPLACE = constants.O_WRONLY | constants.O_TRUNC | constants.O_CREAT;
const MODE = 0o644;

export interface RotatingLogSpec {
  readonly dir: string;
  /** The beginning of the file names. A dot and a number follow. */
  readonly base: string;
  readonly maxFiles: number;
  readonly maxFileBytes: number;
}

/**
 * RotatingLog writes the files of one output of one task. It appends to the file with the highest number (AG-242),
 * begins the next when that is full, and deletes the oldest if there are too many. Every byte is in exactly one file,
 * in order. Tasks write to the directory, too: if a task has replaced a file, the replacement stays and the next number
 * begins. One writer at a time, one write at a time. Cost: one system call per write, some more per rotation.
 */
export class RotatingLog {
  private file: FileHandle | undefined;
  private number = 0;
  private size = 0;
  private endsLine = true;

  constructor(private readonly spec: RotatingLogSpec) {}

  /** Makes an empty first file if there is none. The file exists from a task's start on, before its first output. */
  async createFirstFile(): Promise<void> {
    if (!this.file) await this.openLast();
  }

  async write(chunk: Buffer): Promise<void> {
    let rest = chunk;
    while (rest.length > 0) rest = await this.writeSome(rest);
  }

  /** Writes a part of the chunk and returns the rest, so that no byte is written twice after a failure. */
  async writeSome(chunk: Buffer): Promise<Buffer> {
    const file = this.file ?? (await this.openLast());
    const take = this.bytesThatFit(chunk);
    if (take === 0) {
      await this.openNext();
      return chunk;
    }
    const { bytesWritten } = await file.write(chunk, 0, take);
    this.size += bytesWritten;
    this.endsLine = chunk[bytesWritten - 1] === NEWLINE;
    return chunk.subarray(bytesWritten);
  }

  async close(): Promise<void> {
    await this.file?.close();
    this.file = undefined;
  }

  /** Returns how much of the chunk goes into this file. */
  private bytesThatFit(chunk: Buffer): number {
    const room = this.spec.maxFileBytes - this.size;
    if (chunk.length <= room) return chunk.length;
    if (room <= 0) return 0;
    const lineEnd = chunk.lastIndexOf(NEWLINE, room - 1);
    if (lineEnd >= 0 && room - lineEnd <= NEAR_LINE_END_BYTES) return lineEnd + 1;
    if (lineEnd < 0 && this.endsLine && this.size > 0 && room <= NEAR_LINE_END_BYTES) return 0;
    return room;
  }

  private async openLast(): Promise<FileHandle> {
    await mkdir(this.spec.dir, { recursive: true });
    const { dir, base } = this.spec;
    const { through } = await deletedPart(dir, base);
    const last = Math.max(through + 1, ...(await logNumbers(dir, base)));
    return this.openFile(last).catch((error: unknown) => {
      if (error instanceof NotPlainError) return this.openFile(last + 1);
      throw error;
    });
  }

  private async openNext(): Promise<void> {
    await this.close();
    await this.openFile(this.number + 1).catch((error: unknown) => {
      if (error instanceof NotPlainError) return this.openLast();
      throw error;
    });
    await this.deleteOldest();
  }

  private async openFile(number: number): Promise<FileHandle> {
    const file = await openInLogs(this.spec.dir, this.nameOf(number), APPEND, MODE);
    this.number = number;
    this.file = file;
    this.size = (await file.stat()).size;
    this.endsLine = true;
    return file;
  }

  private async deleteOldest(): Promise<void> {
    const { dir, base, maxFiles } = this.spec;
    const numbers = await logNumbers(dir, base);
    const old = numbers.slice(0, Math.max(0, numbers.length - maxFiles));
    if (old.length === 0) return;
    const logs = await openLogs(dir);
    try {
      for (const number of old) {
        const name = logs.pathOfEntry(pathName(this.nameOf(number)));
        const found = await lstat(name).catch(ignoreMissing);
        if (!found || found.isDirectory()) continue; // a task has replaced the file
        const { bytes, through } = await deletedPart(dir, base);
        // A collector that was killed after counting a file may have left the file.
        if (number > through) await this.countDeleted(logs, { bytes: bytes + found.size, through: number });
        await unlink(name).catch(ignoreMissing);
      }
    } finally {
      await logs.close();
    }
  }

  /** Writes a new file and renames it. On a full disk the old count stays. */
  private async countDeleted(logs: OpenDirectory, { bytes, through }: DeletedPart): Promise<void> {
    const { dir, base } = this.spec;
    const name = deletedBytesFile(base);
    const beside = await openInLogs(dir, `${name}.new`, REPLACE, MODE);
    try {
      await beside.writeFile(`${bytes} ${through}`);
    } finally {
      await beside.close();
    }
    await rename(logs.pathOfEntry(pathName(`${name}.new`)), logs.pathOfEntry(pathName(name)));
  }

  private nameOf(number: number): string {
    return `${this.spec.base}.${number}`;
  }
}

function ignoreMissing(error: unknown): undefined {
  if (!isErrno(error, 'ENOENT')) throw error;
}
