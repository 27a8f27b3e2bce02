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

/** What the tasks and the hooks of one allocation ask of its runner. */
export interface AllocationControl {
  /** Draws the consequences of a change of a task or of the health. */
  changed(): void;
  /** Draws the consequences of a changed status of a check. */
  checksChanged(): void;
  /** Resolves when the present record is on disk (AG-191). */
  save(): Promise<void>;
  /** Takes back what a task offers that is about to be put down. Resolves when others know, or took too long (AG-142). */
  taskGoesDown(): Promise<void>;
  /** Kills what runs (AG-150); resolves when every task is dead. */
  kill(details: Record<string, string>): Promise<void>;
}

export interface AllocationContextOptions {
  readonly alloc: Allocation;
  readonly agent: AgentServices;
  readonly control: AllocationControl;
  /** It was taken up again from disk. */
  readonly isRestored: boolean;
}

/**
 * What is known of one allocation on this machine, for its runner, its hooks and its tasks. There is one for each
 * allocation; the context of a task (task-context.ts) refers to it.
 *
 * The runner moves the phase and the stage and takes over what the servers changed; each other member says which hook
 * sets it.
 */
export class AllocationContext {
  readonly agent: AgentServices;
  readonly control: AllocationControl;
  readonly isRestored: boolean;
  /** The group as it was when the allocation came: what its tasks and its disk are made of. */
  readonly group: TaskGroup;
  /** Open when every task is dead. */
  readonly ended = new Gate();
  /** Open when the servers want the delays of a kill skipped (AG-154). */
  readonly delaysSkipped = new Gate();
  stage: Stage;
  /** All prerun hooks have run: the lifecycle decides which tasks may start (AG-53). */
  isPrepared = false;
  /** Why its tasks may not start yet, for metrics; null: they may. Set by the hooks that wait. */
  waitsFor: 'predecessors' | 'disk' | null = 'predecessors';
  /** Set once for each deployment, by the health hook. */
  health: AllocationRecord['health'];
  /** Its `max_run_duration` is over (AG-77). Set by the hook of that name. */
  isExpired = false;
  /** The namespace that its tasks share; null: they are in the machine's network. Set by the network hook. */
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

  /** As the servers want it now. */
  get alloc(): Allocation {
    return this.current;
  }

  get id(): string {
    return this.current.ID;
  }

  /** As the servers want it now. @throws AllocationNotRunnableError */
  get job(): Job {
    return jobOf(this.current);
  }

  /** The group as the servers want it now. */
  get wantedGroup(): TaskGroup {
    return findTaskGroup(this.job, this.current.TaskGroup) ?? this.group;
  }

  get phase(): Phase {
    return this.at;
  }

  /** On its way down for good, or further: it starts nothing but poststop tasks. */
  get isStopping(): boolean {
    return PHASES.indexOf(this.at) >= PHASES.indexOf('stopping');
  }

  /** The servers are told of its changes: the agent neither puts it down on its own way out nor removes it. */
  get isReported(): boolean {
    return PHASES.indexOf(this.at) <= PHASES.indexOf('ended');
  }

  /** Takes over what the servers changed. An allocation that comes without its job keeps the one it has. */
  replace(alloc: Allocation): void {
    this.current = { ...alloc, Job: alloc.Job ?? this.current.Job };
    if (alloc.DesiredTransition.NoShutdownDelay) this.delaysSkipped.open();
  }

  /** @returns false: it is in that phase already, or in a later one, and stays there */
  enter(phase: Phase): boolean {
    if (PHASES.indexOf(phase) <= PHASES.indexOf(this.at)) return false;
    this.at = phase;
    return true;
  }
}
