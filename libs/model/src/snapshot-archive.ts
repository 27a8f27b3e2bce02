import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Header } from 'tar';
import { BadStateError, frameState, unframeState } from './snapshot-state.js';

/** The description of an archive in its `meta.json` (OP-43). */
export interface ArchiveMeta {
  readonly Format: string;
  readonly ID: string;
  /** The archive contains every effect up to this index, and no later one. */
  readonly Index: number;
  /** Epoch of the role `projector` when the archive was made. */
  readonly Term: number;
  /** Version of Waybill. */
  readonly Version: string;
  /** Number of rows by table. */
  readonly Tables: Readonly<Record<string, number>>;
  /** Highest index that changed each table. Absent for a table without changes. */
  readonly TableIndexes: Readonly<Record<string, number>>;
  /** Lowest index whose events could still be read (EV-68). Null if it was unknown. */
  readonly EventFloor: number | null;
}

export const ARCHIVE_FORMAT = 'waybill/2';
/** An older format that can still be read. Its `state.bin` has the bare lines, and its `Version` is Waybill's. */
const BARE_FORMAT = 'waybill/1';

/** Largest packed archive. Requests and responses hold it in memory. */
export const MAX_ARCHIVE_BYTES = 256 * 1024 * 1024;
/** Largest unpacked content, so that a small archive cannot fill the memory. */
const MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024 - 1;

const META = 'meta.json';
const STATE = 'state.bin';
const SUMS = 'SHA256SUMS';

/** A file is not an archive, or it is damaged, or another program made it. The message says which. */
export class BadArchiveError extends Error {
  override readonly name = 'BadArchiveError';
  /** Whether the archive is intact, but of another program. */
  readonly isForeign: boolean;
  constructor(message: string, options?: ErrorOptions & { readonly isForeign?: boolean }) {
    super(message, options);
    this.isForeign = options?.isForeign ?? false;
  }
}

const deflated = promisify(gzip);
const inflated = promisify(gunzip);

export const sha256 = (bytes: Uint8Array, encoding: 'hex' | 'base64'): string =>
  createHash('sha256').update(bytes).digest(encoding);

/**
 * Format version of the reference's snapshots. Its `snapshot inspect` only accepts an archive whose `Version` has this
 * value.
 */
const SNAPSHOT_VERSION = 1;

/**
 * Packs an archive (OP-43): a compressed tar of its description, the state, and the checksums of both. The reference's
 * `operator snapshot inspect` can read all of it.
 * @param lines the state, one JSON line per row
 */
export async function packArchive(meta: ArchiveMeta, lines: Buffer): Promise<Buffer> {
  const { Version: Waybill, ...rest } = meta;
  const state = await frameState(lines);
  const said = { ...rest, Version: SNAPSHOT_VERSION, Waybill, Size: state.length };
  const about = Buffer.from(`${JSON.stringify(said)}\n`);
  const sums = Buffer.from(sumsOf(about, state));
  return deflated(Buffer.concat([...entry(META, about), ...entry(STATE, state), ...entry(SUMS, sums), END]));
}

/**
 * Unpacks an archive after it has checked its form, its checksums, and that no data follows (OP-45).
 * @throws BadArchiveError
 */
export async function unpackArchive(bytes: Uint8Array): Promise<{ meta: ArchiveMeta; state: Buffer }> {
  const files = filesOf(await unzipped(bytes));
  const [about, state, sums] = [META, STATE, SUMS].map((name) => {
    const file = files.get(name);
    if (!file) throw new BadArchiveError(`${name} is missing`);
    return file;
  }) as [Buffer, Buffer, Buffer];
  if (sums.toString() !== sumsOf(about, state)) throw new BadArchiveError('the checksums do not match');
  const { meta, isBare } = metaOf(about);
  return { meta, state: isBare ? state : linesOf(state) };
}

async function unzipped(bytes: Uint8Array): Promise<Buffer> {
  try {
    return await inflated(bytes, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch (cause) {
    throw new BadArchiveError('not a gzip file, or a damaged one', { cause });
  }
}

function linesOf(state: Buffer): Buffer {
  try {
    return unframeState(state);
  } catch (error) {
    if (error instanceof BadStateError) throw new BadArchiveError(`${STATE} is damaged: ${error.message}`);
    throw error;
  }
}

function metaOf(about: Buffer): { readonly meta: ArchiveMeta; readonly isBare: boolean } {
  const meta = parsed(about);
  const format = typeof meta === 'object' && meta !== null && 'Format' in meta ? meta.Format : undefined;
  if (typeof meta !== 'object' || meta === null || (format !== ARCHIVE_FORMAT && format !== BARE_FORMAT))
    throw new BadArchiveError(`not an archive of Waybill (${META} does not say Format "${ARCHIVE_FORMAT}")`, {
      isForeign: true,
    });
  if (!('Index' in meta) || !Number.isSafeInteger(meta.Index)) throw new BadArchiveError(`${META} names no index`);
  if (format === BARE_FORMAT) return { meta: meta as ArchiveMeta, isBare: true };
  const {
    Waybill: Version,
    Size: _,
    ...rest
  } = meta as Omit<ArchiveMeta, 'Version'> & { Waybill: string; Size: number };
  return { meta: { ...rest, Version }, isBare: false };
}

function parsed(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString()) as unknown;
  } catch {
    throw new BadArchiveError(`${META} is no JSON`);
  }
}

/** Returns the checksums in the format of `sha256sum`. */
const sumsOf = (about: Buffer, state: Buffer): string =>
  `${sha256(about, 'hex')}  ${META}\n${sha256(state, 'hex')}  ${STATE}\n`;

// ---- tar

const BLOCK = 512;
const END = Buffer.alloc(2 * BLOCK);

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

function entry(path: string, content: Buffer): Buffer[] {
  const block = Buffer.alloc(BLOCK);
  new Header({ path, size: content.length, mode: 0o600, type: 'File', mtime: new Date(0) }).encode(block, 0);
  return [block, content, Buffer.alloc(padding(content.length))];
}

function filesOf(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  let at = 0;
  while (at + BLOCK <= tar.length) {
    const header = new Header(tar, at);
    if (header.nullBlock) break;
    const { path, size = 0 } = header;
    if (!header.cksumValid || path === undefined || files.has(path)) throw new BadArchiveError('not a tar file');
    const from = at + BLOCK;
    if (from + size > tar.length) throw new BadArchiveError('the tar file ends too early');
    files.set(path, tar.subarray(from, from + size));
    at = from + size + padding(size);
    if (at > tar.length) throw new BadArchiveError('the tar file ends too early');
    mustBeEmpty(tar.subarray(from + size, at), 'something stands between its files');
  }
  mustBeEmpty(tar.subarray(at), 'something follows the end of the archive');
  return files;
}

function mustBeEmpty(rest: Buffer, otherwise: string): void {
  if (rest.some((byte) => byte !== 0)) throw new BadArchiveError(otherwise);
}
