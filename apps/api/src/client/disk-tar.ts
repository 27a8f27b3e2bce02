import { errorText } from '@waybill/model';
import { type AllocFileInfo, modeOf } from '@waybill/rpc';
import { Header, type HeaderData, Pax } from 'tar';

const BLOCK = 512;
/** Of a file that has become shorter, in one piece. */
const MAX_ZEROS = 64 * 1024;
/** Directories in one another: as many as a disk that moves may have. */
export const MAX_TAR_DEPTH = 64;

/** The files of an allocation. Paths begin at its directory, without a slash. */
export interface DiskFiles {
  /** Undefined: it is not there. */
  list(path: string): Promise<readonly AllocFileInfo[] | undefined>;
  /** The first `size` bytes, fewer if the file has become shorter. */
  read(path: string, size: number): AsyncIterable<Buffer>;
}

/**
 * Directories of an allocation as a tar stream, in pieces, each read when the one before is gone. Links and what is
 * neither file nor directory stay behind. A file that has become shorter is filled up, as its size was said before.
 * What breaks it off is said in a last file, `NOMAD-<allocation>-ERROR.log` (AG-224).
 * Memory: one directory's list for each level, and one piece.
 */
export async function* tarOfDisk(allocId: string, roots: readonly string[], disk: DiskFiles): AsyncGenerator<Buffer> {
  try {
    for (const root of roots) yield* directory(disk, root, { mode: 0o777 }, 0);
  } catch (error) {
    const text = Buffer.from(errorText(error));
    const path = `NOMAD-${allocId}-ERROR.log`;
    yield Buffer.concat([header({ path, type: 'File', size: text.length, mode: 0o666 }), text, padding(text.length)]);
  }
  yield Buffer.alloc(2 * BLOCK);
}

async function* directory(
  disk: DiskFiles,
  path: string,
  about: Pick<HeaderData, 'mode' | 'mtime'>,
  depth: number,
): AsyncGenerator<Buffer> {
  if (depth > MAX_TAR_DEPTH) throw new Error(`directories are deeper than ${MAX_TAR_DEPTH}`);
  const entries = await disk.list(path);
  if (!entries) return; // a task that never ran
  yield header({ ...about, path: `${path}/`, type: 'Directory', size: 0 });
  for (const { Name, Size: size, FileMode, ModTime } of entries) {
    const inside = `${path}/${Name}`;
    const known = { mode: modeOf(FileMode), mtime: new Date(ModTime) };
    if (FileMode.startsWith('d')) yield* directory(disk, inside, known, depth + 1);
    else if (FileMode.startsWith('-')) {
      yield header({ ...known, path: inside, type: 'File', size });
      yield* content(disk, inside, size);
    }
  }
}

async function* content(disk: DiskFiles, path: string, size: number): AsyncGenerator<Buffer> {
  let left = size;
  let failure: { readonly error: unknown } | undefined;
  try {
    if (size > 0)
      for await (const data of disk.read(path, size)) {
        yield data.subarray(0, left);
        left -= Math.min(left, data.length);
      }
  } catch (error) {
    failure = { error };
  }
  yield* zeros(left);
  yield padding(size);
  if (failure) throw failure.error;
}

function* zeros(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= MAX_ZEROS) yield Buffer.alloc(Math.min(left, MAX_ZEROS));
}

/** With an extended one before it where a path is too long or a size too large for the plain form. */
function header(data: HeaderData): Buffer {
  const block = Buffer.alloc(BLOCK);
  const plain = new Header(data);
  return plain.encode(block, 0) ? Buffer.concat([new Pax(data).encode(), block]) : block;
}

const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
