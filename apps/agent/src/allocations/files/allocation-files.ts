import { constants } from 'node:fs';
import { lstat, open, readdir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import {
  MAX_FILE_CHUNK_BYTES,
  MAX_LISTED_FILES,
  RpcError,
  type AllocFileInfo,
  type AllocFileRequest,
  type ListFilesRequest,
  type ListFilesResponse,
  type ReadFileRequest,
  type ReadFileResponse,
} from '@waybill/rpc';
import type { AllocationDirectoryStore } from '../disk/allocation-directories.store.js';
import { NotPlainError, openFound } from '../../paths/plain-file.store.js';
import { checkAllocPath, resolveAllocPath } from './allocation-file-path.js';
import { fileInfo, SNIFFED_BYTES } from './file-info.js';
import { below, entryName, UnsafeNameError } from '../../paths/path-name.js';

/** The largest number of concurrent file reads on one machine. A refused client may try again. */
export const MAX_FILE_READS = 200;
/** The interval in milliseconds between two looks for new bytes. */
const LOOK_MS = 50;
/** The longest wait of one read in milliseconds. A follower asks again. */
const MAX_WAIT_MS = 20_000;
/**
 * Errors that mean that there is no such file, or can be none, because the name is too long or contains a zero byte.
 */
const NO_SUCH_FILE = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ERR_INVALID_ARG_VALUE'];
/** Opening must not block on a pipe without a writer, and must not follow a link that was made after the check. */
const READ_ONLY = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * AllocationFiles reads the files of allocations for clients (agent.md section 24): directories, single files, pieces
 * of files. It never reads secrets or files outside of the allocation's directory, whatever links a task makes, even
 * during a read (AG-302). Its only state is the number of reads in progress.
 */
export class AllocationFiles {
  private reading = 0;

  constructor(
    private readonly directories: Pick<AllocationDirectoryStore, 'directoryOf' | 'exists'>,
    /** Says whether tasks of an allocation may run here. */
    private readonly isLive: (allocId: string) => boolean,
  ) {}

  /**
   * Lists one page of a directory. Cost: the names of the whole directory, the attributes of one page.
   * @throws RpcError
   */
  async list({ AllocID, Path, After, IfEnded }: ListFilesRequest): Promise<ListFilesResponse> {
    if (IfEnded) this.refuseLive(AllocID);
    return await this.withResolvedPath(AllocID, Path, async (found) => {
      const names = (await readdir(found)).filter((name) => name > After).toSorted(byText);
      const page = names.slice(0, MAX_LISTED_FILES);
      const Files: AllocFileInfo[] = [];
      for (const name of page) {
        const info = await infoOf(below(found, entryName(name))).catch(ignoreMissing);
        if (info) Files.push(info);
      }
      return { Files, More: names.length > page.length };
    });
  }

  /** @throws RpcError */
  stat({ AllocID, Path }: AllocFileRequest): Promise<AllocFileInfo> {
    return this.withResolvedPath(AllocID, Path, infoOf);
  }

  /** Returns a piece of a file. With WaitMs it waits until there is one. @throws RpcError */
  async readPiece(request: ReadFileRequest): Promise<ReadFileResponse> {
    if (request.IfEnded) this.refuseLive(request.AllocID);
    if (this.reading >= MAX_FILE_READS) throw new RpcError('limit', 'too many file reads on this machine');
    this.reading++;
    try {
      const readResolved = (found: string, root: string) => readPiece(found, root, request);
      return await this.withResolvedPath(request.AllocID, request.Path, readResolved, 'invalid'); // a missing file (API-197)
    } finally {
      this.reading--;
    }
  }

  private refuseLive(allocId: string): void {
    if (this.isLive(allocId)) throw new RpcError('conflict', `allocation ${allocId} has not ended here yet`);
  }

  private async withResolvedPath<T>(
    allocId: string,
    wanted: string,
    work: (found: string, root: string) => Promise<T>,
    ifMissing: 'invalid' | 'not-found' = 'not-found',
  ): Promise<T> {
    if (!(await this.directories.exists(allocId)))
      throw new RpcError('not-found', `state for allocation ${allocId} not found on client`);
    const root = this.directories.directoryOf(allocId);
    try {
      return await work(await resolveAllocPath(root, wanted), root);
    } catch (error) {
      if (error instanceof UnsafeNameError || NO_SUCH_FILE.some((code) => isErrno(error, code)))
        throw new RpcError(ifMissing, `open ${wanted}: no such file or directory`);
      throw error;
    }
  }
}

async function readPiece(found: string, root: string, request: ReadFileRequest): Promise<ReadFileResponse> {
  const file = await openRegular(found, root, request.Path);
  try {
    const until = performance.now() + Math.min(request.WaitMs, MAX_WAIT_MS);
    const { size } = await file.stat();
    let offset = request.Origin === 'end' ? Math.max(0, size - request.Offset) : request.Offset;
    for (;;) {
      const now = await file.stat();
      const truncated = now.size < offset && request.WaitMs > 0;
      if (truncated) offset = 0;
      const data = await bytesAt(file, offset, Math.min(request.Limit, MAX_FILE_CHUNK_BYTES));
      const event = truncated ? 'file truncated' : '';
      if (data.length > 0 || event) return { Data: data.toString('base64'), Offset: offset, FileEvent: event };
      // Only a read with WaitMs reports that the file was deleted. Others read to the end of the file.
      if (request.WaitMs > 0 && now.nlink === 0) return { Data: '', Offset: offset, FileEvent: 'file deleted' };
      if (performance.now() >= until) return { Data: '', Offset: offset, FileEvent: '' };
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    await file.close();
  }
}

async function openRegular(found: string, root: string, wanted: string): Promise<FileHandle> {
  if ((await stat(found)).isDirectory()) throw new RpcError('invalid', `file "${wanted}" is a directory`);
  const { file, at } = await openFound(found).catch((error: unknown) => {
    throw error instanceof NotPlainError ? new RpcError('invalid', `file "${wanted}" is no regular file`) : error;
  });
  try {
    checkAllocPath(await realpath(root), at, wanted);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function bytesAt(file: FileHandle, offset: number, limit: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.max(0, limit));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
  return buffer.subarray(0, bytesRead);
}

async function infoOf(file: string): Promise<AllocFileInfo> {
  const stats = await lstat(file);
  return fileInfo(file, stats, stats.isFile() ? await headOf(file) : undefined);
}

/**
 * Returns the beginning of a file. It is empty for a file that may not be read, because its attributes may still be
 * shown.
 */
async function headOf(file: string): Promise<Buffer> {
  const opened = await open(file, READ_ONLY).catch(() => undefined);
  if (!opened) return Buffer.alloc(0);
  try {
    return await bytesAt(opened, 0, SNIFFED_BYTES);
  } finally {
    await opened.close();
  }
}

function ignoreMissing(error: unknown): undefined {
  if (!isErrno(error, 'ENOENT')) throw error;
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
