import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '@waybill/telemetry';
import type { AllocRecord, AllocRecords } from './alloc-record.js';
import { UNFINISHED, writeDurably } from './durable-file.store.js';

const SUFFIX = '.json';

/**
 * One file per allocation, which a crash at any moment leaves as it was or as it is to be (AG-204). Per allocation one
 * write is under way and at most one waits; saves that come meanwhile share the waiting one. Cost of a save: one file of the allocation's size and two flushes.
 */
export class AllocRecordStore implements AllocRecords {
  private readonly writing = new Map<string, Promise<void>>();
  private readonly waiting = new Map<string, { record: AllocRecord; done: Promise<void> }>();

  constructor(
    private readonly dir: string,
    private readonly logger: Logger,
  ) {}

  save(record: AllocRecord): Promise<void> {
    const { ID } = record.alloc;
    const next = this.waiting.get(ID);
    if (next) {
      next.record = record;
      return next.done;
    }
    const before = this.writing.get(ID);
    if (!before) return this.begin(record);
    const slot = { record, done: Promise.resolve() };
    slot.done = before
      .catch(() => undefined)
      .then(() => {
        this.waiting.delete(ID);
        return this.begin(slot.record);
      });
    this.waiting.set(ID, slot);
    return slot.done;
  }

  async remove(allocId: string): Promise<void> {
    await this.waiting.get(allocId)?.done.catch(() => undefined);
    await this.writing.get(allocId)?.catch(() => undefined);
    await rm(this.fileOf(allocId), { force: true });
    await rm(this.fileOf(allocId) + UNFINISHED, { force: true });
  }

  async load(): Promise<AllocRecord[]> {
    await mkdir(this.dir, { recursive: true });
    const records: AllocRecord[] = [];
    for (const name of await readdir(this.dir)) {
      if (!name.endsWith(SUFFIX)) continue;
      try {
        records.push(decoded(await readFile(path.join(this.dir, name), 'utf8')));
      } catch (error) {
        this.logger.error('a stored allocation cannot be read and is left out', { file: name, error });
      }
    }
    return records;
  }

  private begin(record: AllocRecord): Promise<void> {
    const { ID } = record.alloc;
    const done = writeDurably(this.fileOf(ID), JSON.stringify(record)).finally(() => {
      if (this.writing.get(ID) === done) this.writing.delete(ID);
    });
    this.writing.set(ID, done);
    return done;
  }

  private fileOf(allocId: string): string {
    return path.join(this.dir, allocId + SUFFIX);
  }
}

function decoded(text: string): AllocRecord {
  const record = JSON.parse(text) as AllocRecord;
  if (record.version !== 1) throw new Error(`version ${String(record.version)} of the record is not known`);
  if (!record.alloc?.ID || typeof record.tasks !== 'object') throw new Error('the record is not one of an allocation');
  return record;
}
