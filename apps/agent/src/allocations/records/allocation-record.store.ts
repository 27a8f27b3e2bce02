import { SharedRun } from '@waybill/model';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import type { Logger } from '@waybill/telemetry';
import type { AllocationRecord, AllocationRecords } from './allocation-record.js';
import { UNFINISHED, writeDurably } from '../../durable-files/durable-file.store.js';
import { below, entryName, pathName } from '../../paths/path-name.js';

const SUFFIX = '.json';

/** Slot holds an allocation's newest record, and the run that writes it. */
interface Slot {
  record: AllocationRecord;
  readonly writing: SharedRun;
}

/**
 * AllocationRecordStore keeps one file per allocation. A crash at any moment leaves either the old or the new version
 * (AG-204). Saves of the same allocation during a write share the next write. Cost of a save: one file of the
 * allocation's size and two flushes, the second of which is shared with others (durable-file.store.ts). Memory: the
 * records that are being written.
 */
export class AllocationRecordStore implements AllocationRecords {
  private readonly slots = new Map<string, Slot>();

  constructor(
    private readonly dir: string,
    private readonly logger: Logger,
  ) {}

  async save(record: AllocationRecord): Promise<void> {
    const { ID } = record.alloc;
    const slot = this.slots.get(ID) ?? this.slotFor(record);
    slot.record = record;
    try {
      await slot.writing.requestRun();
    } finally {
      if (slot.writing.isIdle) this.slots.delete(ID);
    }
  }

  async remove(allocId: string): Promise<void> {
    await this.slots.get(allocId)?.writing.settled();
    await rm(this.fileOf(allocId), { force: true });
    await rm(this.fileOf(allocId) + UNFINISHED, { force: true });
  }

  async load(): Promise<AllocationRecord[]> {
    await mkdir(this.dir, { recursive: true });
    const records: AllocationRecord[] = [];
    for (const name of await readdir(this.dir)) {
      if (!name.endsWith(SUFFIX)) continue;
      try {
        records.push(decodeRecord(await readFile(below(this.dir, entryName(name)), 'utf8')));
      } catch (error) {
        this.logger.error('a stored allocation cannot be read and is left out', { file: name, error });
      }
    }
    return records;
  }

  private slotFor(record: AllocationRecord): Slot {
    const { ID } = record.alloc;
    const writing = new SharedRun(() => writeDurably(this.fileOf(ID), JSON.stringify(slot.record)));
    const slot: Slot = { record, writing };
    this.slots.set(ID, slot);
    return slot;
  }

  private fileOf(allocId: string): string {
    return below(this.dir, pathName(allocId + SUFFIX, 'the allocation'));
  }
}

function decodeRecord(text: string): AllocationRecord {
  const record = JSON.parse(text) as AllocationRecord;
  if (record.version !== 1) throw new Error(`version ${String(record.version)} of the record is not known`);
  if (!record.alloc?.ID || typeof record.tasks !== 'object') throw new Error('the record is not one of an allocation');
  return record;
}
