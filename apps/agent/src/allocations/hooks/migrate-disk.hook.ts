import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import { type AllocationRecord, hasBegun } from '../records/allocation-record.js';

/** The unit of disk sizes in jobs. */
const BYTES_PER_MB = 1024 * 1024;

/**
 * MigrateDiskHook takes over the sticky disk of the previous allocation, from this machine or, with `migrate`, from
 * another (AG-224). It never fails: if the disk cannot be moved, the allocation starts with an empty one.
 */
export class MigrateDiskHook implements AllocationHook {
  readonly name = 'migrate_disk';
  /** Whether its tasks have begun. Then the contents of its disk are their own. */
  private hasDisk = false;
  private inheriting: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {}

  restore(record: AllocationRecord): void {
    this.hasDisk = hasBegun(record);
  }

  async prerun(): Promise<void> {
    this.context.waitsFor = 'disk';
    this.tasks.setWaitReason(`Waiting for the disk of allocation ${this.context.alloc.PreviousAllocation}`);
    if (!this.hasDisk) this.inheriting = this.inheritDisk();
    await this.inheriting;
    this.context.waitsFor = null;
  }

  async destroy(): Promise<void> {
    await this.inheriting;
  }

  private async inheritDisk(): Promise<void> {
    const { id, alloc, agent, group } = this.context;
    const { directories, previousDisk, logger } = agent;
    const { PreviousAllocation } = alloc;
    const { Sticky, Migrate, SizeMB } = group.EphemeralDisk;
    if (!Sticky || PreviousAllocation === '' || !this.isWanted()) return;
    const tasks = group.Tasks.map(({ Name }) => Name);
    try {
      if (await directories.exists(PreviousAllocation)) await directories.inheritDisk(PreviousAllocation, id, tasks);
      else if (Migrate) await previousDisk?.fetchDisk(alloc, tasks, SizeMB * BYTES_PER_MB, this.isWanted);
    } catch (error) {
      logger.error('an allocation starts without the disk of the one before', { alloc: id, error });
    }
  }

  /** Is called repeatedly while a disk is being copied. */
  private readonly isWanted = (): boolean => !this.context.isStopping;
}
