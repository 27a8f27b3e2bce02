import { type Allocation, findTaskGroup, type Job, type TaskGroup } from '@waybill/model';
import type { Stage } from '../tasks/task-lifecycle.js';
import { Gate } from '../waiting/gate.js';
import type { AgentServices } from './agent-services.js';
import { groupOf, jobOf } from './allocation-job.js';
import type { TaskNetwork } from '../networks/task-network.js';
import { healthOf } from './client-update.js';
import type { AllocationRecord } from './records/allocation-record.js';

/** The states of an allocation's runner, in the order in which they can be entered. */
export const PHASES = ['new', 'preparing', 'running', 'stopping', 'ended', 'suspended', 'removed'] as const;
export type Phase = (typeof PHASES)[number];

/** AllocationControl is the part of an allocation's runner that its tasks and hooks call. */
export interface AllocationControl {
  /** Handles a change of a task or of the health. */
  handleChange(): void;
  /** Handles a changed status of a check. */
  checksChanged(): void;
  /** Saves the current record. Resolves when it is on disk (AG-191). */
  save(): Promise<void>;
  /**
   * Deregisters the services of a task that is about to be stopped. Resolves when others know it, or after a timeout
   * (AG-142).
   */
  taskGoesDown(): Promise<void>;
  /** Kills all running tasks (AG-150). Resolves when every task is dead. */
  kill(details: Record<string, string>): Promise<void>;
}

export interface AllocationContextOptions {
  readonly alloc: Allocation;
  readonly agent: AgentServices;
  readonly control: AllocationControl;
  /** Whether the allocation was restored from disk. */
  readonly isRestored: boolean;
}

/**
 * AllocationContext holds the state of one allocation on this machine, for its runner, its hooks and its tasks. There
 * is one per allocation, and the context of a task (task-context.ts) refers to it.
 *
 * The runner sets the phase, the stage and the servers' changes. The comment of each other member names the hook that
 * sets it.
 */
export class AllocationContext {
  readonly agent: AgentServices;
  readonly control: AllocationControl;
  readonly isRestored: boolean;
  /** The group as it was when the allocation arrived. Its tasks and its disk are made from it. */
  readonly group: TaskGroup;
  /** Open when every task is dead. */
  readonly ended = new Gate();
  /** Open when the servers want the delays of a kill skipped (AG-154). */
  readonly delaysSkipped = new Gate();
  stage: Stage;
  /** Whether all prerun hooks have run. Then the lifecycle decides which tasks may start (AG-53). */
  isPrepared = false;
  /** Why its tasks may not start yet, for metrics; null if they may. The waiting hooks set it. */
  waitsFor: 'predecessors' | 'disk' | null = 'predecessors';
  /** The health, which the health hook sets once per deployment. */
  health: AllocationRecord['health'];
  /** Whether `max_run_duration` is over (AG-77). MaxRunDurationHook sets it. */
  isExpired = false;
  /** The namespace that its tasks share; null means the machine's network. The network hook sets it. */
  network: TaskNetwork | null = null;
  private current: Allocation;
  private at: Phase = 'new';

  /** @throws AllocationNotRunnableError */
  constructor({ alloc, agent, control, isRestored }: AllocationContextOptions) {
    this.group = groupOf(alloc);
    this.current = alloc;
    this.agent = agent;
    this.control = control;
    this.isRestored = isRestored;
    this.stage = isRestored ? 'prestart' : 'init';
    this.health = healthOf(alloc);
    if (alloc.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
  }

  /** Returns the allocation as the servers want it now. */
  get alloc(): Allocation {
    return this.current;
  }

  get id(): string {
    return this.current.ID;
  }

  /** Returns the job as the servers want it now. @throws AllocationNotRunnableError */
  get job(): Job {
    return jobOf(this.current);
  }

  /** Returns the group as the servers want it now. */
  get wantedGroup(): TaskGroup {
    return findTaskGroup(this.job, this.current.TaskGroup) ?? this.group;
  }

  get phase(): Phase {
    return this.at;
  }

  /** Says whether the allocation is stopping for good or has passed that phase. It then starts only poststop tasks. */
  get isStopping(): boolean {
    return PHASES.indexOf(this.at) >= PHASES.indexOf('stopping');
  }

  /**
   * Says whether the servers are told of its changes. They are not if the agent suspended it at its own end, or is
   * removing it.
   */
  get isReported(): boolean {
    return PHASES.indexOf(this.at) <= PHASES.indexOf('ended');
  }

  /**
   * Replaces the allocation with the servers' version. An allocation that comes without its job keeps the current job.
   */
  replace(alloc: Allocation): void {
    this.current = { ...alloc, Job: alloc.Job ?? this.current.Job };
    if (alloc.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
  }

  /**
   * Moves to a later phase.
   * @returns false if the allocation is in that phase already, or in a later one; then it stays there
   */
  enterPhase(phase: Phase): boolean {
    if (PHASES.indexOf(phase) <= PHASES.indexOf(this.at)) return false;
    this.at = phase;
    return true;
  }
}
