import { LogUnavailableError, type StoredArchive } from '@waybill/journal';
import { sha256 } from '@waybill/model/snapshot-archive';
import { type ArchivedTables, namesArchive, type Txn } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { openPlainArchive } from './plain-archive.js';
import type { Wire } from './wire.js';

/** As the real one's for a chunk, milliseconds. */
const TIMEOUT_MS = 5_000;
/** A reader of the log that got no answer asks again after this, milliseconds; it asks until it is told. */
const PAUSE_MS = 250;

/** Archives as one process stores and reads them. */
export interface ArchivesOfProcess {
  /** @throws LogUnavailableError */
  put(name: string, bytes: Uint8Array): Promise<StoredArchive>;
  tablesOf(archive: StoredArchive): Promise<ArchivedTables>;
}

/**
 * The stream `ARCHIVES`: what was stored before a restore names it in the log. All readers share the rows of one archive,
 * which nobody can change.
 */
export class ArchiveStore {
  private readonly stored = new Map<string, ArchivedTables>();

  constructor(private readonly wire: Wire) {}

  archivesOf(process: SimulatedProcess): ArchivesOfProcess {
    return {
      put: async (name, bytes) => {
        const { tables } = openPlainArchive(bytes);
        await this.asked(process, 'archives put', () => void this.stored.set(name, tables)).catch((cause: unknown) => {
          throw new LogUnavailableError('the archive cannot be stored', { cause });
        });
        return { Archive: name, SHA256: sha256(bytes, 'hex'), Bytes: bytes.length };
      },
      tablesOf: async ({ Archive }) => {
        for (;;)
          try {
            return await this.asked(process, 'archives get', () => this.tablesOf(Archive));
          } catch {
            await new Promise<void>((resolve) => void process.after(PAUSE_MS, resolve));
          }
      },
    };
  }

  /** The same transaction, and if it is a restore, with what its archive holds. */
  completed(txn: Txn): Txn {
    if (txn.type !== 'StateRestore' || !namesArchive(txn.payload)) return txn;
    return { ...txn, payload: { ...txn.payload, Tables: this.tablesOf(txn.payload.Archive) } };
  }

  /** @throws when the log names what was not stored: nobody may (OP-46) */
  private tablesOf(name: string): ArchivedTables {
    const tables = this.stored.get(name);
    if (!tables) throw new Error(`there is no archive ${name}`);
    return tables;
  }

  private asked<T>(process: SimulatedProcess, label: string, atNats: () => T): Promise<T> {
    return this.wire.ask(process, label, { timeoutMs: TIMEOUT_MS, unanswered: 'ackLoss' }, atNats);
  }
}
