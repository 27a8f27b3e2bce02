import { isClientTerminal, msFromNs } from '@waybill/model';
import { pause } from '../waiting/gate.js';
import type { AllocationContext } from './allocation-context.js';
import type { OrderedAllocationHooks } from './allocation-hook.js';
import type { AllocationTasks } from './allocation-tasks.js';

/**
 * AllocationStopper stops one allocation, once and for good: because it is killed, its time is over, or some of its
 * tasks take the others along. What each task does meanwhile is in task-stopper.ts. The phase of the allocation is its
 * only state.
 */
export class AllocationStopper {
  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
    private readonly hooks: OrderedAllocationHooks,
  ) {}

  /**
   * Kills the tasks. Resolves when all tasks that are live when it begins are dead (AG-150). Further kills change nothing.
   */
  async kill(details: Record<string, string>): Promise<void> {
    if (this.context.enterPhase('stopping')) await this.killInOrder(details);
  }

  /** Fails the tasks because the setup of the allocation failed (AG-81). */
  failSetup(reason: string): void {
    if (this.context.enterPhase('stopping')) this.tasks.failSetup(reason);
  }

  /** Kills the tasks that must not outlive another one that has ended (AG-84 to AG-88). */
  killSiblings(): void {
    const kill = this.context.isStopping ? null : this.tasks.siblingKill();
    if (!kill) return;
    this.context.enterPhase('stopping');
    this.tasks.emitToLive(kill.type, kill.details);
    void this.killInOrder({});
  }

  /** Waits for the delay of the group, before a kill and before a restart of several tasks (AG-154). */
  async waitForShutdownDelay(): Promise<void> {
    const { agent, wantedGroup, ended, delaysSkipped } = this.context;
    const delayMs = msFromNs(wantedGroup.ShutdownDelay ?? 0);
    const isRunning = this.tasks.live.some(({ state }) => state.State === 'running');
    if (delayMs <= 0 || !isRunning || delaysSkipped.isOpen) return;
    await pause(agent.timers, delayMs, ended, delaysSkipped);
  }

  private async killInOrder(details: Record<string, string>): Promise<void> {
    await this.hooks.prekill();
    await this.waitForShutdownDelay();
    await this.tasks.killInOrder(details);
    // Poststop tasks of a lost or expired allocation do not run (AG-95).
    if (isClientTerminal(this.context.alloc) || this.context.isExpired) await this.tasks.killAll();
  }
}
