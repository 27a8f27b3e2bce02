import { AllocationStorage, type StorageOwner } from '../../volumes/csi/allocation-storage.js';
import type { AllocationContext } from '../allocation-context.js';
import { type AllocationHook, CLOSED, type HookRecord } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import type { AllocationRecord } from '../records/allocation-record.js';

/** CsiHook claims, mounts and releases the CSI volumes of an allocation, and supervises the plugins among its tasks. */
export class CsiHook implements AllocationHook, StorageOwner {
  readonly name = 'csi';
  private readonly storage: AllocationStorage;

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {
    const { agent, alloc, group } = context;
    this.storage = new AllocationStorage({ ...agent, alloc, group, owner: this });
  }

  restore({ volumes }: AllocationRecord): void {
    if (volumes) this.storage.restore(volumes);
  }

  record(): HookRecord {
    return { volumes: this.storage.record() };
  }

  /** Prepares the volumes. An allocation that will not start needs none (AG-82). @throws VolumesError */
  async prerun(): Promise<typeof CLOSED | void> {
    if (this.context.isStopping || this.tasks.areDead) return undefined;
    return (await this.storage.prepare()) ? undefined : CLOSED;
  }

  tasksChanged(): void {
    this.storage.superviseTasks(this.tasks.states());
  }

  postrun(): Promise<void> {
    return this.storage.release();
  }

  destroy(): Promise<void> {
    return this.storage.end();
  }

  shutdown(): void {
    this.storage.close();
  }

  waitsFor(what: string): void {
    this.tasks.setWaitReason(`Waiting for ${what}`);
  }

  emit(task: string, type: string, details: Record<string, string>): void {
    this.tasks.runner(task)?.emit(type, details);
  }

  failTask(task: string, reason: string): void {
    void this.tasks.restartUnhealthy(task, reason);
  }

  save(): Promise<void> {
    return this.context.control.save();
  }
}
