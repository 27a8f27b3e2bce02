import type { Allocation, TaskGroup } from '@waybill/model';
import type { AllocHost } from '../allocation-host.js';

/** Sizes of disks are given in these. */
const BYTES_PER_MB = 1024 * 1024;

/**
 * AG-224: what a sticky disk keeps comes from the allocation before, of this machine or, for one that migrates, of another.
 * Never fails: an allocation that cannot have its disk starts with an empty one.
 * @param isWanted looked at while a disk is on its way
 */
export async function inheritDisk(
  { directories, previousDisk, logger }: AllocHost,
  alloc: Allocation,
  group: TaskGroup,
  isWanted: () => boolean,
): Promise<void> {
  const { ID, PreviousAllocation } = alloc;
  const { Sticky, Migrate, SizeMB } = group.EphemeralDisk;
  if (!Sticky || PreviousAllocation === '' || !isWanted()) return;
  const tasks = group.Tasks.map(({ Name }) => Name);
  try {
    if (await directories.exists(PreviousAllocation)) await directories.inherit(PreviousAllocation, ID, tasks);
    else if (Migrate) await previousDisk?.fetch(alloc, tasks, SizeMB * BYTES_PER_MB, isWanted);
  } catch (error) {
    logger.error('an allocation starts without the disk of the one before', { alloc: ID, error });
  }
}
