import type { Logger } from '@waybill/telemetry';
import type { AllocDirectories } from '../disks/alloc-directories.js';
import type { AllocRecord, AllocRecords } from './alloc-record.js';
import type { Driver } from '../drivers/driver.js';

export interface LostDirectoryDeps {
  readonly directories: Pick<AllocDirectories, 'exists'>;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly records: Pick<AllocRecords, 'remove'>;
  readonly logger: Logger;
}

/** What the tasks of an allocation ran in is gone: nothing of it can go on here (AG-197). */
export class LostDirectoryError extends Error {
  override readonly name = 'LostDirectoryError';
  constructor() {
    super('its directory is gone');
  }
}

/** Whether an allocation that has begun and not ended has lost its directory. */
export async function hasLostItsDirectory({ directories }: LostDirectoryDeps, record: AllocRecord): Promise<boolean> {
  const tasks = Object.values(record.tasks);
  const hasBegun = tasks.some(({ handle, state }) => handle !== null || state.StartedAt !== null);
  const hasEnded = tasks.every(({ state }) => state.State === 'dead');
  return hasBegun && !hasEnded && !(await directories.exists(record.alloc.ID));
}

/** Ends what still runs of it and forgets it. */
export async function giveUp({ drivers, records, logger }: LostDirectoryDeps, record: AllocRecord): Promise<void> {
  for (const [name, { handle }] of Object.entries(record.tasks)) {
    const driver = handle && drivers.get(handle.driver);
    if (!driver) continue;
    try {
      await driver.recover(handle);
      await driver.destroy(handle, true);
    } catch (error) {
      logger.warn('what is left of a task cannot be removed', { alloc: record.alloc.ID, task: name, error });
    }
  }
  await records.remove(record.alloc.ID);
}
