import type { Allocation } from '@waybill/model';
import type { AllocationRecord } from './records/allocation-record.js';

/** HookRecord is the part of the allocation's record that a hook keeps on disk. */
export type HookRecord = Partial<
  Pick<AllocationRecord, 'health' | 'expired' | 'services' | 'volumes' | 'identities' | 'network'>
>;

/** The result of a prerun hook that was closed while it worked. No later hook runs then. */
export const CLOSED = 'closed';

/**
 * AllocationHook handles one concern of an allocation beside its tasks. The runner (allocation-runner.ts) calls the
 * hooks of the list in allocation-hooks.ts, in its order:
 *
 * restore                    once, before anything else, if the allocation was restored from disk
 * prerun                     before its tasks may start
 * tasksChanged, update       whenever tasks or the servers' wishes change, also while prerun hooks still work
 * checksChanged              whenever the status of a check changes
 * taskGoesDown               before a single task is stopped, for a kill or a restart
 * prekill                    before its tasks are killed
 * prerestart, restarted      before and after its tasks are stopped for a restart
 * stop, postrun              when all of its tasks have ended
 * leave, destroy             before and after its tasks are killed because it is removed from this machine
 * shutdown                   the agent ends and its tasks must not outlive it
 *
 * A hook reads and writes its allocation's context (allocation-context.ts) and acts on its tasks (allocation-tasks.ts).
 */
export interface AllocationHook {
  readonly name: string;
  /** Restores the state that an earlier agent kept. */
  restore?(record: AllocationRecord): void;
  /** Returns the state to keep on disk. It is called at each write. */
  record?(): HookRecord;
  /**
   * Prepares the allocation. The next hook waits for it. The runner also calls it for restored and for stopping
   * allocations.
   * @throws any error: then no task starts, and each reports `failed to setup alloc: …` (AG-81)
   */
  prerun?(): Promise<typeof CLOSED | void> | void;
  /** Handles a change by the servers. @param before the allocation before the change */
  update?(before: Allocation): void;
  tasksChanged?(): void;
  checksChanged?(): void;
  /** The task waits for it. Never rejects. */
  taskGoesDown?(): Promise<void>;
  /** The kill waits for it. Never rejects. */
  prekill?(): Promise<void> | void;
  /** The restart waits for it. Never rejects. */
  prerestart?(): Promise<void>;
  restarted?(): void;
  /** Stops watches and timers of the allocation. */
  stop?(): void;
  /** Releases what the allocation held (AG-90). The next hook waits for it. Never rejects: it logs failures. */
  postrun?(): Promise<void>;
  /** Runs for all hooks at once; the kill waits for them. Never rejects. */
  leave?(): Promise<void> | void;
  /** Runs for all hooks at once; the files of the allocation are removed afterwards. */
  destroy?(): Promise<void> | void;
  /** Ends the hook without releasing what others hold for the allocation. The next hook waits for it. Never rejects. */
  shutdown?(): Promise<void> | void;
}

/**
 * OrderedAllocationHooks calls the hooks of one allocation in their order. Cost of each call: O(hooks), plus their own
 * work.
 */
export class OrderedAllocationHooks {
  constructor(private readonly hooks: readonly AllocationHook[]) {}

  restore(record: AllocationRecord): void {
    for (const hook of this.hooks) hook.restore?.(record);
  }

  record(): HookRecord {
    return Object.assign({}, ...this.hooks.map((hook) => hook.record?.())) as HookRecord;
  }

  /** Runs the prerun hooks. @returns false if a hook was closed, so that nothing may follow. @throws a hook's error */
  async prerun(): Promise<boolean> {
    for (const hook of this.hooks) {
      const work = hook.prerun?.();
      if (work && (await work) === CLOSED) return false;
    }
    return true;
  }

  update(before: Allocation): void {
    for (const hook of this.hooks) hook.update?.(before);
  }

  tasksChanged(): void {
    for (const hook of this.hooks) hook.tasksChanged?.();
  }

  checksChanged(): void {
    for (const hook of this.hooks) hook.checksChanged?.();
  }

  taskGoesDown(): Promise<void> {
    return this.callInOrder((hook) => hook.taskGoesDown?.());
  }

  prekill(): Promise<void> {
    return this.callInOrder((hook) => hook.prekill?.());
  }

  prerestart(): Promise<void> {
    return this.callInOrder((hook) => hook.prerestart?.());
  }

  restarted(): void {
    for (const hook of this.hooks) hook.restarted?.();
  }

  stop(): void {
    for (const hook of this.hooks) hook.stop?.();
  }

  postrun(): Promise<void> {
    return this.callInOrder((hook) => hook.postrun?.());
  }

  async leave(): Promise<void> {
    await Promise.all(this.hooks.map(async (hook) => hook.leave?.()));
  }

  async destroy(): Promise<void> {
    await Promise.all(this.hooks.map(async (hook) => hook.destroy?.()));
  }

  shutdown(): Promise<void> {
    return this.callInOrder((hook) => hook.shutdown?.());
  }

  /** Calls the hooks one after the other. After a hook that does not wait, the next one follows in the same turn. */
  private async callInOrder(call: (hook: AllocationHook) => Promise<void> | void): Promise<void> {
    for (const hook of this.hooks) {
      const work = call(hook);
      if (work) await work;
    }
  }
}
