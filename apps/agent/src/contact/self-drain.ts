import { type Allocation, type Node, nsFromMs, type Timers, pause } from '@waybill/model';
import { drainSelf, type Rpc, selfDrainState } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';

/** How often the servers are asked whether the drain is over (AG-342). */
export const LOOK_MS = 1_000;
/** Beyond the drain's deadline the machine waits this long, and then ends all the same (AG-341). */
export const GRACE_MS = 5_000;
/** Any negative deadline means: now (DR-61). */
const FORCED_NS = -1e9;

/** `drain_on_shutdown`. */
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
  /** What still runs here. */
  readonly unfinished: () => readonly Allocation[];
}

/**
 * A machine that leaves has its work moved away first (AG-341 to AG-343, DR-80).
 *
 * asking → draining → over. asking: until a server takes the request. draining: until the servers say that the drain is
 * over; each is looked at every LOOK_MS. Over also when no server answers. Whatever they say, it ends only when the work
 * has ended here too (a drain may be complete while the last tasks are being put down, and nobody would look after
 * them), or GRACE_MS after the deadline. The node stays ineligible: that is for an operator to change.
 */
export class SelfDrain {
  private readonly requestId: string;
  /** Index of the drain; 0: not taken yet. */
  private drainIndex = 0;

  constructor(
    private readonly drain: ShutdownDrain,
    private readonly deps: SelfDrainDependencies,
  ) {
    this.requestId = deps.newId();
  }

  /** Resolves when the machine may end. Never fails. */
  async drainMachine(): Promise<void> {
    const { logger, timers } = this.deps;
    let givesUp = false;
    const cancel = timers.after(this.drain.deadlineMs + GRACE_MS, () => (givesUp = true));
    logger.info('leaving: this machine is drained', { ...this.drain });
    while (!(await this.isOver())) {
      if (givesUp) {
        logger.warn('the drain took too long; leaving with work unfinished', { unfinished: this.unfinished });
        return;
      }
      await pause(timers, LOOK_MS);
    }
    cancel();
    logger.info('this machine is drained');
  }

  private async isOver(): Promise<boolean> {
    return !(await this.isDraining()) && this.unfinished === 0;
  }

  /** False also when no server can be asked: then what runs here decides alone. */
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
    const stays = (alloc: Allocation) => this.drain.ignoreSystemJobs && alloc.Job?.Type === 'system';
    return this.deps.unfinished().filter((alloc) => !stays(alloc)).length;
  }
}
