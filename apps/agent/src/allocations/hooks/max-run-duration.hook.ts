import { type CancelTimer, msFromNs } from '@waybill/model';
import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook, HookRecord } from '../allocation-hook.js';
import { EXPIRED } from '../client-status.js';
import type { AllocationRecord } from '../records/allocation-record.js';

/**
 * Kills a batch allocation whose `max_run_duration` is over (AG-77). The time counts from the servers' time of making the
 * allocation, so it survives restarts of the agent. Cost: one timer.
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

  /** An update in place may have given the group another time (SC-254). */
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

  /** What is on its way down already ends by what took it there. */
  private expire(): void {
    if (this.context.isStopping) return;
    this.context.isExpired = true;
    void this.context.control.kill({ kill_reason: EXPIRED });
  }
}
