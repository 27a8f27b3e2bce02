import { createHash } from 'node:crypto';
import {
  constants,
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { below, entryName, isWithin, type PathName, pathName } from './path-name.js';

/** EscapesError says that a path of a job leads out of the directory of its allocation. */
export class EscapesError extends Error {
  override readonly name = 'EscapesError';
  constructor(readonly wanted: string) {
    super(`path "${wanted}" escapes the alloc directory`);
  }
}

/** TakenError says that another kind of file is in the place of a directory or a file. */
export class TakenError extends Error {
  override readonly name = 'TakenError';
  constructor(wanted: string) {
    super(`"${wanted}" is taken by something else`);
  }
}

/** The largest number of links that are followed, as in Linux. */
const MAX_LINKS = 40;
/** The largest number of segments of one path. */
const MAX_SEGMENTS = 1_024;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** The errors of `open` if a link or another kind of file is in the place of a directory. */
const NO_DIRECTORY = ['ELOOP', 'ENOTDIR'];
/** The name of the agent's directory, which is closed to jobs. */
const OF_THE_AGENT = 'private';

export interface Walk {
  /** Whether missing directories are made. */
  readonly make: boolean;
  /** Which links are followed. `inside`: links that stay below the root; `none`: any link refuses the walk. */
  readonly links: 'inside' | 'none';
  /** Whether the root is an allocation's or a task's directory, in which the agent's notes are closed (AG-220). */
  readonly closesNotes: 'of allocation' | 'of task' | false;
}

interface Opened {
  readonly handle: FileHandle;
  /** Path of the directory for one call of the file system. */
  readonly at: string;
  /** The names from the root to here. None of them is a link. */
  readonly names: readonly PathName[];
  readonly root: string;
  readonly closesNotes: Walk['closesNotes'];
}

/**
 * OpenDirectory is an open directory below a root into which tasks write, too. All work in it happens there and nowhere
 * else, whatever a task moves or links meanwhile. It uses no path of more than one segment. It opens each segment
 * without following a link, and reads a link and walks its target in the same way. There is therefore no time between a
 * check and a use. On a machine without /proc (not Linux) it uses the directory by its path, and does not notice moves.
 * The caller closes it. Cost: one open directory, and one more per segment during the walk.
 */
export class OpenDirectory {
  private constructor(private readonly opened: Opened) {}

  /**
   * Finds and opens a directory.
   * @param root a directory that no task can replace
   * @throws EscapesError, TakenError, and the file system's errors
   */
  static async find(root: string, wanted: string, walk: Walk): Promise<OpenDirectory> {
    const real = await realpath(root);
    const handle = await open(real, DIRECTORY);
    const top = new OpenDirectory({
      handle,
      at: placeOf(handle, real),
      names: [],
      root: real,
      closesNotes: walk.closesNotes,
    });
    return await top.openPath(wanted, walk);
  }

  close(): Promise<void> {
    return this.opened.handle.close();
  }

  /** Returns a path for one call of the file system. That call has to refuse a link in the place of `name`. */
  pathOfEntry(name: PathName): string {
    return below(this.opened.at, name);
  }

  /** Opens a directory in this one. @throws TakenError, EscapesError */
  async openChild(name: PathName, make: boolean, mode?: number): Promise<OpenDirectory> {
    this.refuseNotes([...this.opened.names, name]);
    const isNew = make && (await makeIfMissing(this.pathOfEntry(name)));
    const handle = await open(this.pathOfEntry(name), DIRECTORY).catch((error: unknown) => {
      throw NO_DIRECTORY.some((code) => isErrno(error, code)) ? new TakenError(name) : error;
    });
    if (isNew && mode !== undefined) await handle.chmod(mode);
    const at = below(this.opened.at, name);
    return new OpenDirectory({ ...this.opened, handle, at: placeOf(handle, at), names: [...this.opened.names, name] });
  }

  /**
   * Writes a new file in the place of the file or link with that name. Readers see the old one until the new one is
   * complete.
   */
  async replace(name: PathName, write: (file: FileHandle) => Promise<void>): Promise<void> {
    this.refuseNotes([...this.opened.names, name]);
    const beside = pathName(`.${createHash('sha256').update(name).digest('hex').slice(0, 16)}.rendering`);
    await this.clear(beside);
    const file = await open(this.pathOfEntry(beside), 'wx');
    try {
      await write(file);
    } finally {
      await file.close();
    }
    await rename(this.pathOfEntry(beside), this.pathOfEntry(name));
  }

  /**
   * Copies a file, a link as a link, or a directory with its contents. A file replaces a file or a link; a directory is
   * merged.
   * @param from a path that no task can change
   * @throws TakenError, EscapesError
   */
  async copyEntry(from: string, name: PathName): Promise<void> {
    this.refuseNotes([...this.opened.names, name]);
    const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      async (error: unknown) => {
        if (!isErrno(error, 'ELOOP')) throw error;
        await this.clear(name);
        await symlink(await readlink(from), this.pathOfEntry(name));
      },
    );
    if (!source) return;
    try {
      const found = await source.stat();
      if (found.isDirectory()) {
        const directory = await this.openChild(name, true, found.mode & 0o7777);
        try {
          await directory.copyContents(from);
        } finally {
          await directory.close();
        }
      } else if (found.isFile()) {
        await this.clear(name);
        await copyFile(from, this.pathOfEntry(name), constants.COPYFILE_EXCL);
      }
    } finally {
      await source.close();
    }
  }

  /** Copies the contents of a directory into this one. Cost: one open directory per level. */
  async copyContents(from: string): Promise<void> {
    for (const found of await readdir(from)) {
      const name = entryName(found);
      await this.copyEntry(below(from, name), name);
    }
  }

  /** Removes the entry with this name. @throws TakenError if it is a directory with contents */
  private async clear(name: PathName): Promise<void> {
    try {
      await unlink(this.pathOfEntry(name));
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return;
      if (!isErrno(error, 'EISDIR') && !isErrno(error, 'EPERM')) throw error;
      await rmdir(this.pathOfEntry(name)).catch(() => Promise.reject(new TakenError(name)));
    }
  }

  private async openPath(wanted: string, { make, links }: Walk): Promise<OpenDirectory> {
    const way: OpenDirectory[] = [this];
    const ahead = wanted.split('/');
    let followed = 0;
    try {
      while (ahead.length > 0) {
        if (ahead.length > MAX_SEGMENTS) throw new EscapesError(wanted);
        const segment = ahead.shift() ?? '';
        const here = way.at(-1) ?? this;
        if (segment === '' || segment === '.') continue;
        if (segment === '..') {
          if (way.length === 1) throw new EscapesError(wanted);
          await way.pop()?.close();
          continue;
        }
        const name = entryName(segment);
        const next = await here.openChild(name, make).catch(async (error: unknown) => {
          if (!(error instanceof TakenError)) throw error;
          const target = await readlink(here.pathOfEntry(name)).catch(() => Promise.reject(new TakenError(wanted)));
          if (links === 'none' || ++followed > MAX_LINKS) throw new EscapesError(wanted);
          ahead.unshift(...(await this.segmentsOf(target, way, wanted)));
        });
        if (next) way.push(next);
      }
      const found = way.pop() ?? this;
      await Promise.all(way.map((one) => one.close()));
      return found;
    } catch (error) {
      await Promise.all(way.map((one) => one.close()));
      throw error;
    }
  }

  /** Returns the segments of a link's target. An absolute target begins again at the root. @throws EscapesError */
  private async segmentsOf(target: string, way: OpenDirectory[], wanted: string): Promise<string[]> {
    if (!path.isAbsolute(target)) return target.split('/');
    const real = path.normalize(target);
    if (!isWithin(this.opened.root, real)) throw new EscapesError(wanted);
    for (const one of way.splice(1)) await one.close();
    return path.relative(this.opened.root, real).split('/');
  }

  /**
   * Refuses paths to the agent's own files (AG-220). An allocation's `alloc` directory belongs to the tasks.
   * @throws EscapesError
   */
  private refuseNotes([first, second]: readonly string[]): void {
    const isClosed =
      (this.opened.closesNotes === 'of task' && first === OF_THE_AGENT) ||
      (this.opened.closesNotes === 'of allocation' && first !== 'alloc' && second === OF_THE_AGENT);
    if (isClosed) throw new EscapesError([first, second].filter((name) => name !== undefined).join('/'));
  }
}

const placeOf = (handle: FileHandle, real: string): string =>
  process.platform === 'linux' ? below('/proc/self/fd', pathName(String(handle.fd))) : real;

async function makeIfMissing(directory: string): Promise<boolean> {
  try {
    await mkdir(directory);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}
