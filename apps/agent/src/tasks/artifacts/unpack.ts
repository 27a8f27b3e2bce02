import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar';
import yauzl from 'yauzl';
import { ArtifactLimitError, type ArtifactLimits } from './artifact-limits.js';
import type { ArchiveForm } from './artifact-source.js';
import { belowAsText } from '../../paths/path-name.js';

export interface Unpacking {
  /** Path of the archive. */
  readonly archive: string;
  readonly form: ArchiveForm;
  /** The directory for the contents of the archive. It is made if it is missing. */
  readonly into: string;
}

/**
 * Unpacks an archive into a directory, and writes nothing outside of it. It refuses entries with absolute names, with
 * `..`, or through links. Links that lead out, devices and pipes are errors.
 * @throws ArtifactLimitError, or an error that names the entry
 */
export async function unpack(
  { archive, form, into }: Unpacking,
  limits: ArtifactLimits,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(into, { recursive: true });
  const budget = new Budget(limits);
  if (form === 'zip') await unzip(archive, into, budget, signal);
  else await untar(archive, into, budget, signal);
}

/** Budget counts the unpacked contents, because an archive may state wrong sizes. */
class Budget {
  private entries = 0;
  private bytes = 0;

  constructor(private readonly limits: ArtifactLimits) {}

  countEntry(): void {
    if (++this.entries > this.limits.entries)
      throw new ArtifactLimitError(`the archive has more than ${this.limits.entries} entries`);
  }

  countBytes(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.limits.bytes)
      throw new ArtifactLimitError(`the archive unpacks to more than ${this.limits.bytes} bytes`);
  }

  /** Returns a stream that passes bytes through, and fails at the first byte above the limit. */
  byteCounter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        try {
          this.countBytes(chunk.length);
          done(null, chunk);
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)));
        }
      },
    });
  }
}

const TAR_TYPES = new Set(['File', 'OldFile', 'ContiguousFile', 'Directory', 'SymbolicLink', 'Link', 'GNUDumpDir']);

async function untar(archive: string, into: string, budget: Budget, signal: AbortSignal): Promise<void> {
  let refused: Error | undefined;
  const stop = new AbortController();
  const abortUnpack = (error: unknown): void => {
    refused ??= error instanceof Error ? error : new Error(String(error));
    stop.abort();
  };
  const target = extract({
    cwd: into,
    strict: true,
    preserveOwner: false,
    filter: (name, entry) => {
      try {
        budget.countEntry();
        if ('type' in entry) {
          if (!TAR_TYPES.has(entry.type)) throw new Error(`entry "${name}" is a ${entry.type}`);
          checkName(name);
          if (entry.type === 'SymbolicLink') checkLink(name, String(entry.linkpath));
          budget.countBytes(entry.size);
        }
        return true;
      } catch (error) {
        abortUnpack(error);
        return false;
      }
    },
  });
  try {
    await pipeline(createReadStream(archive), target, { signal: AbortSignal.any([signal, stop.signal]) });
  } catch (error) {
    throw refused ?? error;
  }
  if (refused) throw refused;
}

async function unzip(archive: string, into: string, budget: Budget, signal: AbortSignal): Promise<void> {
  // The library itself refuses absolute names and names with `..`.
  const zip = await yauzl.openPromise(archive, { lazyEntries: true, strictFileNames: true });
  try {
    for await (const entry of zip.eachEntry()) {
      signal.throwIfAborted();
      budget.countEntry();
      checkName(entry.fileName);
      const target = belowAsText(into, entry.fileName);
      if (entry.fileName.endsWith('/')) {
        await mkdir(target, { recursive: true });
        continue;
      }
      const mode = (entry.externalFileAttributes >>> 16) & 0o7777;
      const kind = (entry.externalFileAttributes >>> 16) & 0o170000;
      if (kind !== 0 && kind !== 0o100000) throw new Error(`entry "${entry.fileName}" is no regular file`);
      await mkdir(path.dirname(target), { recursive: true });
      const from: Readable = await zip.openReadStreamPromise(entry);
      const to = createWriteStream(target, { mode: mode & 0o777 || 0o644, flags: 'wx' });
      await pipeline(from, budget.byteCounter(), to, { signal });
    }
  } finally {
    zip.close();
  }
}

function checkName(name: string): void {
  if (path.isAbsolute(name) || name.split('/').includes('..'))
    throw new Error(`entry "${name}" leads out of the archive`);
}

function checkLink(name: string, leadsTo: string): void {
  const found = path.normalize(`${path.dirname(name)}/${leadsTo}`);
  if (path.isAbsolute(leadsTo) || found === '..' || found.startsWith('../'))
    throw new Error(`link "${name}" leads out of the archive, to "${leadsTo}"`);
}
