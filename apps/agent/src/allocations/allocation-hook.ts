import type { Allocation } from '@waybill/model';
import type { AllocationRecord } from './records/allocation-record.js';

/** What a hook keeps on disk. */
export type HookRecord = Partial<
  Pick<AllocationRecord, 'health' | 'expired' | 'services' | 'volumes' | 'identities' | 'network'>
>;

/** How a prerun hook ended that was closed while it worked: nothing is to follow. */
export const CLOSED = 'closed';

/**
 * One concern of an allocation beside its tasks. The runner (allocation-runner.ts) calls the hooks of the list in
 * allocation-hooks.ts, in its order:
 *
 * restore                    once, before anything else, if the allocation was taken up again from disk
 * prerun                     before its tasks may start
 * tasksChanged, update       as often as tasks or the servers' wishes change, also while prerun hooks still work
 * checksChanged              as often as the status of a check changes
 * taskGoesDown               before a single task is put down, for a kill or a restart
 * prekill                    before its tasks are killed
 * prerestart, restarted      before its tasks are put down to be started again, and afterwards
 * stop, postrun              when all of its tasks have ended
 * leave, destroy             before and after its tasks are killed because it is removed from this machine
 * shutdown                   the agent ends and its tasks must not outlive it
 *
 * A hook reads and writes its allocation's context (allocation-context.ts) and acts on its tasks (allocation-tasks.ts).
 */
export interface AllocationHook {
  readonly name: string;
  /** Takes up what an earlier agent has kept. */
  restore?(record: AllocationRecord): void;
  /** What is to be kept on disk: it is asked for at each write. */
  record?(): HookRecord;
  /**
   * The next hook waits for it. It is called for restored allocations too, and for those that are being stopped.
   * @throws anything: no task starts, and each says `failed to setup alloc: …` (AG-81)
   */
  prerun?(): Promise<typeof CLOSED | void> | void;
  /** The servers changed the allocation. @param before as it was */
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
  /** Ends what watches or times the allocation. */
  stop?(): void;
  /** Gives back what the allocation held (AG-90). The next hook waits for it. Never rejects: it logs what fails. */
  postrun?(): Promise<void>;
  /** All hooks at once; the kill waits for them. Never rejects. */
  leave?(): Promise<void> | void;
  /** All hooks at once; the files of the allocation are removed afterwards. */
  destroy?(): Promise<void> | void;
  /** What others hold for the allocation stays as it is. The next hook waits for it. Never rejects. */
  shutdown?(): Promise<void> | void;
}

/** Calls the hooks of one allocation, in their order. Cost of each call: O(hooks), and what they do. */
export class OrderedAllocationHooks {
  constructor(private readonly hooks: readonly AllocationHook[]) {}

  restore(record: AllocationRecord): void {
    for (const hook of this.hooks) hook.restore?.(record);
  }

  record(): HookRecord {
    return Object.assign({}, ...this.hooks.map((hook) => hook.record?.())) as HookRecord;
  }

  /** @returns false: a hook was closed, nothing is to follow. @throws what a hook throws */
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
    return this.inTurn((hook) => hook.taskGoesDown?.());
  }

  prekill(): Promise<void> {
    return this.inTurn((hook) => hook.prekill?.());
  }

  prerestart(): Promise<void> {
    return this.inTurn((hook) => hook.prerestart?.());
  }

  restarted(): void {
    for (const hook of this.hooks) hook.restarted?.();
  }

  stop(): void {
    for (const hook of this.hooks) hook.stop?.();
  }

  postrun(): Promise<void> {
    return this.inTurn((hook) => hook.postrun?.());
  }

  async leave(): Promise<void> {
    await Promise.all(this.hooks.map(async (hook) => hook.leave?.()));
  }

  async destroy(): Promise<void> {
    await Promise.all(this.hooks.map(async (hook) => hook.destroy?.()));
  }

  shutdown(): Promise<void> {
    return this.inTurn((hook) => hook.shutdown?.());
  }

  /** A hook that does not wait lets the next one follow in the same turn. */
  private async inTurn(call: (hook: AllocationHook) => Promise<void> | void): Promise<void> {
    for (const hook of this.hooks) {
      const work = call(hook);
      if (work) await work;
    }
  }
}
