import { type FileHandle, mkdir, open, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { deletedBytesFile, logNumbers } from './log-file-names.js';

/** AG-241: a file ends at a line end if one is as near as this to its limit. */
export const NEAR_LINE_END_BYTES = 32 * 1024;
const NEWLINE = 0x0a;

export interface RotatingLogSpec {
  readonly dir: string;
  /** File names are this, a dot and a number. */
  readonly base: string;
  readonly maxFiles: number;
  readonly maxFileBytes: number;
}

/**
 * The files of one output of one task: appends to the one with the highest number (AG-242), begins the next when it is
 * full, deletes the oldest when there are too many. Every byte is in exactly one file, in order.
 * One writer at a time, one write at a time. Cost: one system call per write, some more per rotation.
 */
export class RotatingLog {
  private file: FileHandle | undefined;
  private number = 0;
  private size = 0;
  private endsLine = true;

  constructor(private readonly spec: RotatingLogSpec) {}

  async write(chunk: Buffer): Promise<void> {
    let rest = chunk;
    while (rest.length > 0) rest = await this.writeSome(rest);
  }

  /** One step of writing: gives back what is left, so that after a failure nothing is written twice. */
  async writeSome(chunk: Buffer): Promise<Buffer> {
    const file = this.file ?? (await this.openLast());
    const take = this.fitting(chunk);
    if (take === 0) {
      await this.next();
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

  /** How much of the chunk goes into this file. */
  private fitting(chunk: Buffer): number {
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
    this.number = (await logNumbers(this.spec.dir, this.spec.base)).at(-1) ?? 0;
    return this.openFile();
  }

  private async next(): Promise<void> {
    await this.close();
    this.number++;
    await this.openFile();
    await this.deleteOldest();
  }

  private async openFile(): Promise<FileHandle> {
    const file = await open(this.nameOf(this.number), 'a', 0o644);
    this.file = file;
    this.size = (await file.stat()).size;
    this.endsLine = true;
    return file;
  }

  private async deleteOldest(): Promise<void> {
    const numbers = await logNumbers(this.spec.dir, this.spec.base);
    const surplus = numbers.slice(0, Math.max(0, numbers.length - this.spec.maxFiles));
    for (const number of surplus) {
      const name = this.nameOf(number);
      const { size } = await stat(name);
      await writeFile(this.deletedFile(), String((await deletedBytes(this.spec.dir, this.spec.base)) + size));
      await unlink(name);
    }
  }

  private nameOf(number: number): string {
    return path.join(this.spec.dir, `${this.spec.base}.${number}`);
  }

  private deletedFile(): string {
    return path.join(this.spec.dir, deletedBytesFile(this.spec.base));
  }
}

/** Bytes that deleted files of this log held. */
export async function deletedBytes(dir: string, base: string): Promise<number> {
  try {
    const bytes = Number(await readFile(path.join(dir, deletedBytesFile(base)), 'utf8'));
    return Number.isSafeInteger(bytes) ? bytes : 0;
  } catch {
    return 0;
  }
}

/** Bytes that a log was given, those of its deleted files included. */
export async function bytesEverWritten({ dir, base }: Pick<RotatingLogSpec, 'dir' | 'base'>): Promise<number> {
  const files = (await logNumbers(dir, base)).map((number) => path.join(dir, `${base}.${number}`));
  const sizes = await Promise.all(files.map((file) => stat(file).then(({ size }) => size)));
  return sizes.reduce((total, size) => total + size, await deletedBytes(dir, base));
}
