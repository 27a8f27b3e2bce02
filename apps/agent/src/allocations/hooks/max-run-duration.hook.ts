import { type CancelTimer, msFromNs } from '@waybill/model';
import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook, HookRecord } from '../allocation-hook.js';
import { EXPIRED } from '../client-status.js';
import type { AllocationRecord } from '../records/allocation-record.js';

/**
 * MaxRunDurationHook kills a batch allocation whose `max_run_duration` is over (AG-77). The time counts from the
 * creation of the allocation on the servers, so it survives restarts of the agent. Cost: one timer.
 */
export class MaxRunDurationHook implements AllocationHook {
  readonly name = 'max_run_duration';
  private cancel: CancelTimer = () => {};

  constructor(private readonly context: AllocationContext) {}

  restore({ expired }: AllocationRecord): void {
    this.context.isExpired = expired ?? false;
  }

  record(): HookRecord {
    return { expired: this.context.isExpired };
  }

  prerun(): void {
    this.startTimer();
  }

  /** Restarts the timer, because an update in place may have changed the group's duration (SC-254). */
  update(): void {
    if (!this.context.ended.isOpen) this.startTimer();
  }

  stop(): void {
    this.cancel();
  }

  private startTimer(): void {
    this.cancel();
    const { alloc, agent, job, wantedGroup } = this.context;
    const { MaxRunDuration } = wantedGroup;
    if (MaxRunDuration === null || MaxRunDuration <= 0 || (job.Type !== 'batch' && job.Type !== 'sysbatch')) return;
    const atMs = msFromNs(alloc.CreateTime + MaxRunDuration);
    this.cancel = agent.deadlines.after(atMs - agent.clock.nowMs(), () => this.expire());
  }

  /** Ends the allocation. A stopping allocation keeps its first reason. */
  private expire(): void {
    if (this.context.isStopping) return;
    this.context.isExpired = true;
    void this.context.control.kill({ kill_reason: EXPIRED });
  }
}
