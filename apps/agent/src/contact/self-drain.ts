import { type Allocation, type Node, nsFromMs, type Timers, pause } from '@waybill/model';
import { drainSelf, type Rpc, selfDrainState } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';

/** The interval in milliseconds between two questions whether the drain is over (AG-342). */
export const LOOK_MS = 1_000;
/** The time in milliseconds after the drain's deadline at which the machine ends in any case (AG-341). */
export const GRACE_MS = 5_000;
/** Any negative deadline means a forced drain (DR-61). */
const FORCED_NS = -1e9;

/** ShutdownDrain is the setting `drain_on_shutdown`. */
export interface ShutdownDrain {
  readonly deadlineMs: number;
  readonly force: boolean;
  readonly ignoreSystemJobs: boolean;
}

export interface SelfDrainDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly node: () => Pick<Node, 'ID' | 'SecretID'>;
  /** Returns the allocations that still run here. */
  readonly unfinished: () => readonly Allocation[];
}

/**
 * SelfDrain moves the work away from a machine that leaves (AG-341 to AG-343, DR-80).
 *
 * States: asking → draining → over. asking: until a server takes the request. draining: until the servers report that
 * the drain is over. Both poll every LOOK_MS. Without any answer, the servers' part counts as over, too. In each case
 * it ends only when the work has ended here as well, or GRACE_MS after the deadline: a drain may be complete while the
 * last tasks are still stopping, and nothing would supervise them. The node stays ineligible until an operator changes
 * that.
 */
export class SelfDrain {
  private readonly requestId: string;
  /** The index of the drain; 0 before the servers take it. */
  private drainIndex = 0;

  constructor(
    private readonly drain: ShutdownDrain,
    private readonly deps: SelfDrainDependencies,
  ) {
    this.requestId = deps.newId();
  }

  /** Drains the machine. Resolves when the machine may end. Never fails. */
  async drainMachine(): Promise<void> {
    const { logger, timers } = this.deps;
    let givesUp = false;
    const cancel = timers.after(this.drain.deadlineMs + GRACE_MS, () => (givesUp = true));
    logger.info('leaving: this machine is drained', { ...this.drain });
    while (!(await this.isDrainOver())) {
      if (givesUp) {
        logger.warn('the drain took too long; leaving with work unfinished', { unfinished: this.unfinished });
        return;
      }
      await pause(timers, LOOK_MS);
    }
    cancel();
    logger.info('this machine is drained');
  }

  private async isDrainOver(): Promise<boolean> {
    return !(await this.isDraining()) && this.unfinished === 0;
  }

  /**
   * Says whether the servers are draining. It is false if no server answers; then the allocations here decide alone.
   */
  private async isDraining(): Promise<boolean> {
    const { rpc, logger } = this.deps;
    const { ID: NodeID, SecretID } = this.deps.node();
    try {
      if (this.drainIndex === 0) {
        const { deadlineMs, force, ignoreSystemJobs: IgnoreSystemJobs } = this.drain;
        const DrainSpec = { Deadline: force ? FORCED_NS : nsFromMs(deadlineMs), IgnoreSystemJobs };
        const Meta = { message: 'shutting down' };
        const asked = { NodeID, SecretID, RequestID: this.requestId, DrainSpec, Meta };
        this.drainIndex = (await rpc.ask(drainSelf, asked)).Index;
      }
      return (await rpc.ask(selfDrainState, { NodeID, SecretID, MinStateIndex: this.drainIndex })).Draining;
    } catch (error) {
      logger.warn('the servers could not be asked about the drain of this machine', { error });
      return false;
    }
  }

  private get unfinished(): number {
    const staysOnDrain = (alloc: Allocation) => this.drain.ignoreSystemJobs && alloc.Job?.Type === 'system';
    return this.deps.unfinished().filter((alloc) => !staysOnDrain(alloc)).length;
  }
}
