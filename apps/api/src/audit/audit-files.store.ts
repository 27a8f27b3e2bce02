import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { badRequest } from '../http/api-error.js';
import type { AuditSource, StoredLine } from './audit-trail.js';
import { rotatedFiles } from './rotation.js';

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
/** The longest line that is read, in bytes. It is longer than any record. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * AuditFiles reads the audit log of this API from its files, the newest record first. A token names the file by its
 * inode, which does not change when the file is rotated, and the number of bytes that are still to be read.
 */
export class AuditFiles implements AuditSource {
  constructor(private readonly file: string) {}

  async *backwards(token: string): AsyncGenerator<StoredLine> {
    const start = startOf(token);
    let isReached = start === undefined;
    for (const name of await this.files()) {
      const handle = await opened(name);
      if (!handle) continue;
      try {
        const { ino, size } = await handle.stat();
        const isStart = start !== undefined && ino === start.inode;
        isReached ||= isStart;
        if (isReached) yield* linesOf(handle, ino, isStart ? Math.min(start.bytes, size) : size);
      } finally {
        await handle.close();
      }
    }
  }

  /** Returns the files, the newest first. */
  private async files(): Promise<readonly string[]> {
    const directory = path.dirname(this.file);
    const names = await readdir(directory).catch(() => []);
    return [this.file, ...rotatedFiles(this.file, names).map((name) => path.join(directory, name))];
  }
}

/** @throws Refusal invalid */
function startOf(token: string): { readonly inode: number; readonly bytes: number } | undefined {
  if (token === '') return undefined;
  const [, inode, bytes] = /^(\d{1,15})-(\d{1,15})$/.exec(token) ?? [];
  if (inode === undefined) throw badRequest(`invalid next_token ${JSON.stringify(token)}`);
  return { inode: Number(inode), bytes: Number(bytes) };
}

/** Opens a file. The result is undefined if the file was removed meanwhile or cannot be read backwards. */
async function opened(name: string): Promise<FileHandle | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(name, 'r');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  return undefined;
}

/** Returns the lines of the first `end` bytes, the last one first. Memory: a chunk and a line. */
async function* linesOf(handle: FileHandle, inode: number, end: number): AsyncGenerator<StoredLine> {
  let rest = Buffer.alloc(0); // bytes of a line whose beginning has not been read
  for (let at = end; at > 0;) {
    const from = Math.max(0, at - CHUNK_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(at - from), 0, at - from, from);
    rest = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
    for (let cut = rest.lastIndexOf(NEWLINE); cut >= 0; cut = rest.lastIndexOf(NEWLINE)) {
      const line = rest.toString('utf8', cut + 1);
      rest = rest.subarray(0, cut);
      if (line !== '') yield { line, token: `${inode}-${from + cut + 1}` };
    }
    if (rest.length > MAX_LINE_BYTES) rest = rest.subarray(0, 0);
    at = from;
  }
  if (rest.length > 0) yield { line: rest.toString('utf8'), token: `${inode}-0` };
}
