import { type Allocation, isServerTerminal, type Job, type Task, type TaskState } from '@waybill/model';
import type { AgentServices } from '../allocations/agent-services.js';
import type { AllocationContext } from '../allocations/allocation-context.js';
import type { Driver, TaskConfig } from '../drivers/driver.js';
import type { TaskNetwork } from '../networks/task-network.js';
import { Gate } from '../waiting/gate.js';
import type { HookedTask } from './task-hook.js';
import type { RestartTracker } from './restart-tracker.js';
import { TaskEventLog } from './task-event-log.js';
import { isGateOpen, type TaskKind } from './task-lifecycle.js';
import { TaskPreparation } from './task-preparation.js';

export interface TaskContextOptions {
  readonly task: Task;
  readonly allocation: AllocationContext;
  readonly kind: TaskKind;
  readonly driver: Driver;
  readonly restarts: RestartTracker;
  /** The state at the end of the earlier agent, or that of a new task. */
  readonly state: TaskState;
}

/**
 * TaskContext holds the state of one task, for its runner and the runner's parts. There is one per task, and it refers
 * to the context of the allocation.
 */
export class TaskContext implements HookedTask {
  /** The task as the servers want it now. */
  task: Task;
  readonly allocation: AllocationContext;
  /** The task's place in the lifecycle. */
  readonly kind: TaskKind;
  readonly driver: Driver;
  readonly restarts: RestartTracker;
  readonly events: TaskEventLog;
  readonly preparation: TaskPreparation;
  /** Opens when the task is dead or suspended. A revival replaces it by another gate. */
  ended = new Gate();
  /** Opens when the task is stopping for good. */
  readonly killing = new Gate();

  constructor({ task, allocation, kind, driver, restarts, state }: TaskContextOptions) {
    const { agent, control } = allocation;
    this.task = task;
    this.allocation = allocation;
    this.kind = kind;
    this.driver = driver;
    this.restarts = restarts;
    this.preparation = new TaskPreparation(agent, driver);
    this.events = new TaskEventLog(state, agent.clock, () => control.handleChange());
  }

  get agent(): AgentServices {
    return this.allocation.agent;
  }

  get allocId(): string {
    return this.allocation.id;
  }

  get alloc(): Allocation {
    return this.allocation.alloc;
  }

  get network(): TaskNetwork | null {
    return this.allocation.network;
  }

  get job(): Job {
    return this.allocation.job;
  }

  /** Returns the immutable state. A change replaces it (AG-423). */
  get state(): TaskState {
    return this.events.state;
  }

  get isDead(): boolean {
    return this.state.State === 'dead';
  }

  /** Says whether the servers still want it to run (AG-101). */
  get isWanted(): boolean {
    return this.kind === 'poststop' || !isServerTerminal(this.alloc);
  }

  /** Says whether the lifecycle lets it start (task-lifecycle.ts). */
  get mayStart(): boolean {
    return this.allocation.isPrepared && isGateOpen(this.allocation.stage, this.kind);
  }

  /**
   * Says whether a task that lost its process waits for contact with the servers before it starts again. Tasks of
   * system jobs start at once (AG-194).
   */
  get asksAfterLoss(): boolean {
    return this.job.Type !== 'system';
  }

  emit(type: string, details: Record<string, string> = {}): void {
    this.events.emit(type, details);
  }

  /** Prepares directories, environment and interpolated configuration. It is called for each start. */
  configure(taskId: string): Promise<TaskConfig> {
    return this.preparation.configure(taskId, this);
  }
}
