import { errorText } from '@waybill/model';
import { jetstream, type JetStreamManager } from '@nats-io/jetstream';
import { MAX_ARCHIVE_BYTES, sha256, unpackArchive } from '@waybill/model/snapshot-archive';
import { type ArchivedTables, namesArchive, readArchive, type Txn, type TxnPayloads } from '@waybill/state';
import type { NatsLink } from './connection.js';
import { LogUnavailableError } from './errors.js';
import type { FollowOptions } from './log.js';
import { ARCHIVES_STREAM } from './streams.js';

/** Bytes of one message: below NATS' usual limit of 1 MB. */
const CHUNK_BYTES = 512 * 1024;
/** Timeout for one chunk, milliseconds. */
const CHUNK_TIMEOUT_MS = 5_000;
/**
 * Longest time that a reader of the log tries to get an archive, milliseconds; then it ends, and its process starts
 * anew.
 */
const FETCH_DEADLINE_MS = 60_000;
const FETCH_PAUSE_MS = 250;

/** The fields of a transaction that name the archive it restores. */
export type StoredArchive = Pick<TxnPayloads['StateRestore'], 'Archive' | 'SHA256' | 'Bytes'>;

/** The archive that the log names is missing, or is not the one it names. No reader can continue (ST-8). */
export class ArchiveLostError extends Error {
  override readonly name = 'ArchiveLostError';
  constructor(name: string, reason: string) {
    super(`the archive ${name} that a restore in the log names ${reason}`);
  }
}

/**
 * The restored archives, stored in JetStream beside the log, in chunks. They are written before the log names them and
 * stay while the log can name them (`StreamRetention.trimArchives`). Keeps nothing in memory.
 */
export class Archives {
  constructor(
    private readonly link: NatsLink,
    private readonly manager: () => Promise<JetStreamManager>,
  ) {}

  /**
   * Resolves when the whole archive is stored durably. @param name one token of a subject @throws LogUnavailableError
   */
  async put(name: string, bytes: Uint8Array): Promise<StoredArchive> {
    if (bytes.length > MAX_ARCHIVE_BYTES) throw new RangeError(`an archive of more than ${MAX_ARCHIVE_BYTES} bytes`);
    try {
      const js = jetstream(this.link.nc, { timeout: CHUNK_TIMEOUT_MS });
      for (const [n, chunk] of chunksOf(bytes).entries()) await js.publish(subjectOfChunk(name, n), chunk);
    } catch (cause) {
      const reason = errorText(cause);
      throw new LogUnavailableError(`the archive cannot be stored: ${reason}`, { cause });
    }
    return { Archive: name, SHA256: sha256(bytes, 'hex'), Bytes: bytes.length };
  }

  /** @throws ArchiveLostError, and any error of the connection */
  async get({ Archive, SHA256, Bytes }: StoredArchive): Promise<Buffer> {
    const manager = await this.manager();
    const chunks: Uint8Array[] = [];
    for (let n = 0; n * CHUNK_BYTES < Bytes; n++) {
      const chunk = await manager.streams.getMessage(ARCHIVES_STREAM, { last_by_subj: subjectOfChunk(Archive, n) });
      if (!chunk) throw new ArchiveLostError(Archive, 'is not stored any more');
      chunks.push(chunk.data);
    }
    const bytes = Buffer.concat(chunks);
    if (sha256(bytes, 'hex') !== SHA256) throw new ArchiveLostError(Archive, 'is another one by now');
    return bytes;
  }

  /** The tables in an archive. Waits for a connection that is down. @throws ArchiveLostError, BadArchiveError */
  async tablesOf(archive: StoredArchive): Promise<ArchivedTables> {
    const until = performance.now() + FETCH_DEADLINE_MS;
    for (;;) {
      try {
        return (await openArchive(await this.get(archive))).tables;
      } catch (error) {
        if (error instanceof ArchiveLostError || performance.now() >= until) throw error;
        await new Promise((resolve) => setTimeout(resolve, FETCH_PAUSE_MS));
      }
    }
  }
}

/** The content of an archive. */
export interface OpenedArchive {
  /** The archive contains the effects of all transactions up to this index, and of no later one. */
  readonly index: number;
  readonly tables: ArchivedTables;
}

/** Reads and checks a whole archive (OP-45). @throws BadArchiveError, BadRowsError */
export async function openArchive(bytes: Uint8Array): Promise<OpenedArchive> {
  const { meta, state } = await unpackArchive(bytes);
  return { index: meta.Index, tables: readArchive(linesOf(state)) };
}

/** Wraps a reader so that restores of archives carry the content of their archives. Batches without a restore pass unchanged. */
export function withArchives(options: FollowOptions, archives: Pick<Archives, 'tablesOf'>): FollowOptions {
  const complete = async (txn: Txn): Promise<Txn> => {
    if (!isRestore(txn)) return txn;
    return { ...txn, payload: { ...txn.payload, Tables: await archives.tablesOf(txn.payload) } };
  };
  return {
    ...options,
    onTxns: (batch, delivery) => {
      if (!batch.some(isRestore)) return options.onTxns(batch, delivery);
      return Promise.all(batch.map(complete)).then((whole) => options.onTxns(whole, delivery));
    },
  };
}

const isRestore = (txn: Txn): txn is Txn<'StateRestore'> => txn.type === 'StateRestore' && namesArchive(txn.payload);

const subjectOfChunk = (name: string, n: number): string => `${ARCHIVES_STREAM}.${name}.${n}`;

function chunksOf(bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES));
  return chunks;
}

/** The lines of a text, which may be longer than a string can be. */
function* linesOf(text: Buffer): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf(0x0a, at);
    const to = end === -1 ? text.length : end;
    yield text.toString('utf8', at, to);
    at = to + 1;
  }
}
