import { type Allocation, isRefusal, pause, type Timers } from '@waybill/model';
import {
  type AllocFileInfo,
  type ListFilesResponse,
  listPreviousDisk,
  modeOf,
  readPreviousDisk,
  type Rpc,
  RpcUnavailableError,
} from '@waybill/rpc';

/** The largest number of files and directories of a disk that is moved. */
export const MAX_MIGRATED_FILES = 100_000;
/** The largest depth of nested directories. */
export const MAX_MIGRATED_DEPTH = 64;
/**
 * The pause in milliseconds before the next attempt, while the previous allocation is still ending or the servers are
 * unreachable.
 */
export const PREVIOUS_DISK_RETRY_MS = 1_000;
/** The number of unanswered attempts in a row after which the agent gives up the disk. */
export const MAX_UNANSWERED = 10;

/** DiskNotMovedError says that the disk is not moved. The allocation then starts with an empty one. */
export class DiskNotMovedError extends Error {
  override readonly name = 'DiskNotMovedError';
}

/** IncomingDisk collects a disk from another machine. Nothing sees it before it is complete. */
export interface IncomingDisk {
  directory(path: string, mode: number): Promise<void>;
  file(path: string, mode: number): Promise<{ write(data: Buffer): Promise<void>; close(): Promise<void> }>;
  /** Moves the collected disk into the allocation. */
  complete(tasks: readonly string[]): Promise<void>;
  discard(): Promise<void>;
}

export interface PreviousDiskDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  readonly identity: () => { readonly ID: string; readonly SecretID: string };
  readonly incoming: (allocId: string) => IncomingDisk;
}

/**
 * PreviousDisk fetches the disk of an allocation that has ended on another machine (AG-224), through the servers.
 *
 * States: waiting (the previous allocation has not ended) → copying → done, or given up: by a failure, a limit, or
 * because the allocation is no longer wanted. It requests one piece of one file at a time, so each 256 KiB costs a round
 * trip. It does not trust the names from the other machine, and writes nothing outside of the allocation's own
 * directory. Only files and directories are copied, not links or other kinds, and the agent becomes their owner.
 * Limits: MAX_MIGRATED_…, and the disk's own size.
 */
export class PreviousDisk {
  constructor(private readonly deps: PreviousDiskDependencies) {}

  /** Fetches the disk. @throws DiskNotMovedError, RpcError, and errors of writing; then nothing of the disk is left */
  async fetchDisk(
    alloc: Allocation,
    tasks: readonly string[],
    maxBytes: number,
    isWanted: () => boolean,
  ): Promise<void> {
    const incoming = this.deps.incoming(alloc.ID);
    const copy = new Copy({ ...this.deps, alloc, maxBytes, isWanted, incoming });
    await incoming.discard(); // removes the unfinished disk of an earlier agent
    try {
      await copy.fetchRoots(['alloc/data', ...tasks.map((task) => `${task}/local`)]);
      await incoming.complete(tasks);
    } catch (error) {
      await incoming.discard();
      throw error;
    }
  }
}

interface CopyOptions extends Pick<PreviousDiskDependencies, 'rpc' | 'timers' | 'identity'> {
  readonly alloc: Pick<Allocation, 'ID' | 'CreateIndex'>;
  readonly maxBytes: number;
  readonly isWanted: () => boolean;
  readonly incoming: IncomingDisk;
}

class Copy {
  private files = 0;
  private bytes = 0;

  constructor(private readonly options: CopyOptions) {}

  /**
   * Copies the directories. Some may be missing, because a task is new or never ran. If all are missing, the allocation
   * is gone from its machine. It may also go during the copy, so a missing directory is accepted only if another one is
   * still there afterwards.
   */
  async fetchRoots(paths: readonly string[]): Promise<void> {
    let found: string | undefined;
    let missing: unknown;
    for (const path of paths) {
      await this.options.incoming.directory(path, 0o777);
      const first = await this.listDirectory(path, '').catch((error: unknown) => {
        if (!isRefusal(error, 'not-found')) throw error;
        missing = error;
        return null;
      });
      if (!first) continue;
      found ??= path;
      await this.fetchContents(path, first, 0);
    }
    if (missing === undefined) return;
    if (found === undefined) throw missing;
    await this.listDirectory(found, '');
  }

  private async fetchDirectory(path: string, mode: number, depth: number): Promise<void> {
    if (depth > MAX_MIGRATED_DEPTH) throw new DiskNotMovedError(`directories are deeper than ${MAX_MIGRATED_DEPTH}`);
    await this.options.incoming.directory(path, mode);
    await this.fetchContents(path, await this.listDirectory(path, ''), depth);
  }

  private async fetchContents(path: string, first: ListFilesResponse, depth: number): Promise<void> {
    for (let page = first, after = ''; ;) {
      for (const file of page.Files) await this.fetchEntry(path, file, depth);
      const last = page.Files.at(-1)?.Name ?? after;
      if (!page.More || last <= after) return; // stops if the pages do not advance
      after = last;
      page = await this.listDirectory(path, after);
    }
  }

  private async fetchEntry(dir: string, info: AllocFileInfo, depth: number): Promise<void> {
    if (++this.files > MAX_MIGRATED_FILES)
      throw new DiskNotMovedError(`there are more than ${MAX_MIGRATED_FILES} files`);
    const path = `${dir}/${plainName(info.Name)}`;
    const mode = modeOf(info.FileMode);
    if (info.FileMode.startsWith('d')) await this.fetchDirectory(path, mode, depth + 1);
    else if (info.FileMode.startsWith('-')) await this.fetchFile(path, mode);
  }

  private async fetchFile(path: string, mode: number): Promise<void> {
    const file = await this.options.incoming.file(path, mode);
    try {
      for (let Offset = 0; ;) {
        const piece = await this.askWithRetries((own) =>
          this.options.rpc.ask(readPreviousDisk, { ...own, Path: `/${path}`, Offset }),
        );
        const data = Buffer.from(piece.Data, 'base64');
        if (data.length === 0) return;
        Offset += data.length;
        this.bytes += data.length;
        if (this.bytes > this.options.maxBytes)
          throw new DiskNotMovedError(`it holds more than its ${this.options.maxBytes} bytes`);
        await file.write(data);
      }
    } finally {
      await file.close();
    }
  }

  private listDirectory(path: string, After: string): Promise<ListFilesResponse> {
    return this.askWithRetries((own) => this.options.rpc.ask(listPreviousDisk, { ...own, Path: `/${path}`, After }));
  }

  private async askWithRetries<T>(
    ask: (own: { NodeID: string; SecretID: string; AllocID: string; MinStateIndex: number }) => Promise<T>,
  ): Promise<T> {
    for (let unanswered = 0; ;) {
      if (!this.options.isWanted()) throw new DiskNotMovedError('the allocation is not wanted any more');
      try {
        const { ID: NodeID, SecretID } = this.options.identity();
        const { ID: AllocID, CreateIndex: MinStateIndex } = this.options.alloc;
        return await ask({ NodeID, SecretID, AllocID, MinStateIndex });
      } catch (error) {
        const isEnding = isRefusal(error, 'conflict');
        const isAway = error instanceof RpcUnavailableError && ++unanswered < MAX_UNANSWERED;
        if (!isEnding && !isAway) throw error;
        await pause(this.options.timers, PREVIOUS_DISK_RETRY_MS);
      }
    }
  }
}

function plainName(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    throw new DiskNotMovedError(`${JSON.stringify(name)} is no name of a file`);
  return name;
}
