import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@waybill/model';
import { makeDirectory } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import type { AuditSink } from './audit-log.js';
import { isRotationDue, rotatedFiles, rotatedPath, type RotationRules, surplusFiles } from './rotation.js';

/**
 * The largest number of records that wait for the disk: some ten megabytes. Further records are refused, so that a dead
 * disk takes no memory.
 */
export const MAX_WAITING = 10_000;
/** The largest number of records in one write. Records that arrive during a write are in the next one. */
const MAX_BATCH = 512;
const NS_PER_MS = 1_000_000n;
const DIRECTORY_MODE = 0o700;

export interface FileSinkOptions {
  readonly file: string;
  readonly mode: number;
  /** Says whether a record counts as written only when it is on the disk. */
  readonly sync: boolean;
  readonly rotation: RotationRules;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Opened {
  readonly handle: FileHandle;
  bytes: number;
  bornMs: number;
}

/** SinkOverloadedError says that more records wait than the limit allows. */
class SinkOverloadedError extends Error {
  override readonly name = 'SinkOverloadedError';
  constructor() {
    super(`more than ${MAX_WAITING} records wait to be written`);
  }
}

/**
 * FileSink appends lines to one file that no other process writes (AU-279). idle → writing → idle. Lines wait during a
 * write, and the next write takes all of them, so a busy server writes rarely. It cuts off a line that the disk took
 * only in part: the file holds only whole lines, in the order in which they arrived. No library does both; those that
 * rotate files do not report which line was lost. Memory: at most MAX_WAITING lines.
 */
export class FileSink implements AuditSink {
  readonly name = 'file';
  private opened: Opened | undefined;
  private readonly waiting: Waiting[] = [];
  private writing: Promise<void> | undefined;
  private isReopening = false;
  /** The time in the name of the last rotated file. No two names are equal, or one file would replace the other. */
  private lastNs = 0n;

  constructor(private readonly options: FileSinkOptions) {}

  /** Opens the file and makes its directory. @throws the errors of the file system */
  async open(): Promise<void> {
    await this.current();
  }

  write(line: string): Promise<void> {
    if (this.waiting.length >= MAX_WAITING) return Promise.reject(new SinkOverloadedError());
    return new Promise((resolve, reject) => {
      this.waiting.push({ line, resolve, reject });
      this.writing ??= this.writeAll();
    });
  }

  /** Begins a new file with the next record. A file that another program has moved away stays as it is (AU-279). */
  async reopen(): Promise<void> {
    this.isReopening = true;
  }

  async close(): Promise<void> {
    await this.writing;
    await this.closeFile();
  }

  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, MAX_BATCH);
      try {
        await this.append(Buffer.from(batch.map(({ line }) => line).join('')));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.writing = undefined;
  }

  private async append(lines: Buffer): Promise<void> {
    if (this.isReopening) await this.closeFile();
    this.isReopening = false;
    const { rotation, clock, sync } = this.options;
    let file = await this.current();
    if (isRotationDue(file, rotation, lines.length, clock.nowMs())) file = await this.rotated(file);
    let written = 0;
    try {
      while (written < lines.length) written += (await file.handle.write(lines, written)).bytesWritten;
      if (sync) await file.handle.datasync();
    } catch (error) {
      if (written > 0) await this.cutTo(file);
      throw error;
    }
    file.bytes += lines.length;
  }

  /** Cuts off a partial line. If that is not possible, the file stays as it is. */
  private async cutTo({ handle, bytes }: Opened): Promise<void> {
    await handle.truncate(bytes).catch((error: unknown) => {
      this.options.logger.warn('the audit log ends with a part of a record', { error });
    });
  }

  private async current(): Promise<Opened> {
    if (this.opened) return this.opened;
    const { file, mode, clock } = this.options;
    await makeDirectory(path.dirname(file), { mode: DIRECTORY_MODE });
    const handle = await open(file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, mode);
    const { size, birthtimeMs } = await handle.stat();
    this.opened = { handle, bytes: size, bornMs: size === 0 || birthtimeMs === 0 ? clock.nowMs() : birthtimeMs };
    return this.opened;
  }

  /** Rotates the file. If that is not possible, the records continue in it: a long file is better than none. */
  private async rotated(file: Opened): Promise<Opened> {
    const { file: name, clock, logger } = this.options;
    const nowNs = BigInt(Math.floor(clock.nowMs())) * NS_PER_MS;
    this.lastNs = nowNs > this.lastNs ? nowNs : this.lastNs + 1n;
    try {
      await rename(name, rotatedPath(name, this.lastNs));
    } catch (error) {
      logger.warn('the file of the audit log cannot be put aside', { error });
      file.bornMs = clock.nowMs();
      return file;
    }
    await this.closeFile();
    await this.removeSurplus();
    return this.current();
  }

  private async removeSurplus(): Promise<void> {
    const { file, rotation, logger } = this.options;
    const directory = path.dirname(file);
    try {
      const old = surplusFiles(rotatedFiles(file, await readdir(directory)), rotation.files);
      for (const name of old) await rm(path.join(directory, name), { force: true });
    } catch (error) {
      logger.warn('old files of the audit log cannot be removed', { error });
    }
  }

  private async closeFile(): Promise<void> {
    const file = this.opened;
    this.opened = undefined;
    await file?.handle.close().catch(() => {}); // what was written is written
  }
}
