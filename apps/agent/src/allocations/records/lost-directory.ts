import { findTaskGroup, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { AllocationDirectories } from '../disk/allocation-directories.js';
import { jobOf } from '../allocation-job.js';
import { AllocationStorage, type StorageHost, type StorageOwner } from '../../volumes/csi/allocation-storage.js';
import { type AllocationRecord, type AllocationRecords, hasBegun } from './allocation-record.js';
import type { AllocationNetworks } from '../../networks/allocation-networks.js';
import type { Driver } from '../../drivers/driver.js';

export interface LostDirectoryDeps {
  readonly directories: Pick<AllocationDirectories, 'exists'>;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly records: Pick<AllocationRecords, 'remove'>;
  readonly csi?: StorageHost;
  readonly networks?: Pick<AllocationNetworks, 'release'>;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * LostDirectoryError says that the directory of an allocation is gone, so that its tasks cannot continue here (AG-197).
 */
export class LostDirectoryError extends Error {
  override readonly name = 'LostDirectoryError';
  constructor() {
    super('its directory is gone');
  }
}

/** Says whether an allocation that has begun and not ended has lost its directory. */
export async function hasLostItsDirectory(
  { directories }: Pick<LostDirectoryDeps, 'directories'>,
  record: AllocationRecord,
): Promise<boolean> {
  const hasEnded = Object.values(record.tasks).every(({ state }) => state.State === 'dead');
  return hasBegun(record) && !hasEnded && !(await directories.exists(record.alloc.ID));
}

/** The owner of the remains of an allocation that has no runner. */
const NOBODY: StorageOwner = { waitsFor: () => {}, emit: () => {}, failTask: () => {}, save: async () => {} };

/** Ends the running tasks of an allocation, releases its volumes (VL-228), and removes its record. */
export async function abandonAllocation(deps: LostDirectoryDeps, record: AllocationRecord): Promise<void> {
  const { drivers, records, logger } = deps;
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
  // The caller does not wait, because the volumes' plugin may be another allocation of this machine.
  void Promise.all([releaseVolumes(deps, record), deps.networks?.release(record.alloc.ID)])
    .then(() => records.remove(record.alloc.ID))
    .catch((error: unknown) => logger.error('an allocation cannot be forgotten', { alloc: record.alloc.ID, error }));
}

/** Releases the volumes. It retries an unmount that fails while this agent runs. */
async function releaseVolumes(deps: LostDirectoryDeps, { alloc, volumes }: AllocationRecord): Promise<void> {
  const group = findTaskGroup(jobOf(alloc), alloc.TaskGroup);
  if (!group) return;
  const storage = new AllocationStorage({ ...deps, alloc, group, owner: NOBODY });
  if (volumes) storage.restore(volumes);
  await storage.release();
}
