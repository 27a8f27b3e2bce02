import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import { type AllocationRecord, hasBegun } from '../records/allocation-record.js';

/** Sizes of disks are given in these. */
const BYTES_PER_MB = 1024 * 1024;

/**
 * Brings what a sticky disk keeps from the allocation before, of this machine or, for one that migrates, of another
 * (AG-224). It never fails: an allocation that cannot have its disk starts with an empty one.
 */
export class MigrateDiskHook implements AllocationHook {
  readonly name = 'migrate_disk';
  /** Its tasks have begun: what is on its disk is theirs. */
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
    this.tasks.noteWait(`Waiting for the disk of allocation ${this.context.alloc.PreviousAllocation}`);
    if (!this.hasDisk) this.inheriting = this.inherit();
    await this.inheriting;
    this.context.waitsFor = null;
  }

  async destroy(): Promise<void> {
    await this.inheriting;
  }

  private async inherit(): Promise<void> {
    const { id, alloc, agent, group } = this.context;
    const { directories, previousDisk, logger } = agent;
    const { PreviousAllocation } = alloc;
    const { Sticky, Migrate, SizeMB } = group.EphemeralDisk;
    if (!Sticky || PreviousAllocation === '' || !this.isWanted()) return;
    const tasks = group.Tasks.map(({ Name }) => Name);
    try {
      if (await directories.exists(PreviousAllocation)) await directories.inherit(PreviousAllocation, id, tasks);
      else if (Migrate) await previousDisk?.fetch(alloc, tasks, SizeMB * BYTES_PER_MB, this.isWanted);
    } catch (error) {
      logger.error('an allocation starts without the disk of the one before', { alloc: id, error });
    }
  }

  /** Looked at while a disk is on its way. */
  private readonly isWanted = (): boolean => !this.context.isStopping;
}
