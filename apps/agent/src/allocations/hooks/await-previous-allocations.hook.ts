import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';

/** Waits until the allocations of this machine that the allocation replaces or preempted have ended (AG-53). */
export class AwaitPreviousAllocationsHook implements AllocationHook {
  readonly name = 'await_previous_allocations';

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {}

  async prerun(): Promise<void> {
    const { agent, alloc } = this.context;
    const previous = [alloc.PreviousAllocation, ...alloc.PreemptedAllocations].filter((id) => id !== '');
    this.tasks.setWaitReason(
      `Waiting for ${previous.length > 0 ? `the end of allocation ${previous.join(', ')}` : 'its end from before'}`,
    );
    await agent.predecessorsEnded(alloc);
  }
}
