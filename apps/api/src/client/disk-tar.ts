import { errorText } from '@waybill/model';
import { type AllocFileInfo, modeOf } from '@waybill/rpc';
import { Header, type HeaderData, Pax } from 'tar';

const BLOCK = 512;
/** The largest piece of zeros that fills up a file which has become shorter, in bytes. */
const MAX_ZEROS = 64 * 1024;
/** The largest depth of directories. A disk that moves may have as many. */
export const MAX_TAR_DEPTH = 64;

/** DiskFiles reads the files of an allocation. Paths begin at its directory, without a slash. */
export interface DiskFiles {
  /** Lists a directory. The result is undefined if it does not exist. */
  list(path: string): Promise<readonly AllocFileInfo[] | undefined>;
  /** Reads the first `size` bytes, or fewer if the file has become shorter. */
  read(path: string, size: number): AsyncIterable<Buffer>;
}

/**
 * Returns directories of an allocation as a tar stream. It reads each piece when the one before is sent. It leaves out
 * links and everything that is neither file nor directory. It fills up a file that has become shorter, because the
 * header has already stated its size. If an error ends the stream, the last file, `NOMAD-<allocation>-ERROR.log`, says
 * why (AG-224).
 * Memory: one directory's list for each level, and one piece.
 */
export async function* tarOfDisk(allocId: string, roots: readonly string[], disk: DiskFiles): AsyncGenerator<Buffer> {
  try {
    for (const root of roots) yield* tarDirectory(disk, root, { mode: 0o777 }, 0);
  } catch (error) {
    const text = Buffer.from(errorText(error));
    const path = `NOMAD-${allocId}-ERROR.log`;
    yield Buffer.concat([header({ path, type: 'File', size: text.length, mode: 0o666 }), text, padding(text.length)]);
  }
  yield Buffer.alloc(2 * BLOCK);
}

async function* tarDirectory(
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
    if (FileMode.startsWith('d')) yield* tarDirectory(disk, inside, known, depth + 1);
    else if (FileMode.startsWith('-')) {
      yield header({ ...known, path: inside, type: 'File', size });
      yield* fileContent(disk, inside, size);
    }
  }
}

async function* fileContent(disk: DiskFiles, path: string, size: number): AsyncGenerator<Buffer> {
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

/**
 * Returns the header of a file. An extended header precedes it if the path is too long or the size too large for the
 * plain form.
 */
function header(data: HeaderData): Buffer {
  const block = Buffer.alloc(BLOCK);
  const plain = new Header(data);
  return plain.encode(block, 0) ? Buffer.concat([new Pax(data).encode(), block]) : block;
}

const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
