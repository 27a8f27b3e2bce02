import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Header } from 'tar';
import { BadStateError, frameState, unframeState } from './snapshot-state.js';

/** What `meta.json` says of an archive (OP-43). */
export interface ArchiveMeta {
  readonly Format: string;
  readonly ID: string;
  /** Every effect up to this index is in it, and no later one. */
  readonly Index: number;
  /** Epoch of the role `projector` then. */
  readonly Term: number;
  /** Of Waybill. */
  readonly Version: string;
  /** Rows by table. */
  readonly Tables: Readonly<Record<string, number>>;
  /** Highest index that touched each table; absent: none did. */
  readonly TableIndexes: Readonly<Record<string, number>>;
  /** Lowest index whose events could still be read (EV-68); null: nobody could say. */
  readonly EventFloor: number | null;
}

export const ARCHIVE_FORMAT = 'waybill/2';
/** Its `state.bin` is the bare lines, and its `Version` Waybill's. Still read. */
const BARE_FORMAT = 'waybill/1';

/** Of an archive as it travels: requests and answers hold it in memory. */
export const MAX_ARCHIVE_BYTES = 256 * 1024 * 1024;
/** Of what is in it, so that a small archive cannot fill the memory. */
const MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024 - 1;

const META = 'meta.json';
const STATE = 'state.bin';
const SUMS = 'SHA256SUMS';

/** The file is no archive, or a damaged one, or one of another program. The text says which. */
export class BadArchiveError extends Error {
  override readonly name = 'BadArchiveError';
  /** It is whole, and another program's. */
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

/** The form of the reference's snapshots, which its `Version` has to name for its `snapshot inspect` to go on. */
const SNAPSHOT_VERSION = 1;

/**
 * The outer form of an archive (OP-43): a compressed tar of what is said of it, the state, and the sums of both. The
 * reference's `operator snapshot inspect` can read all of it.
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
 * Takes an archive apart, once all of it has been looked at (OP-45): its form, its sums, and that nothing follows.
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

/** As `sha256sum` writes it. */
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
