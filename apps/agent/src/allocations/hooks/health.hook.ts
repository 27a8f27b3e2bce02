import { type Allocation, findTaskGroup, isServerTerminal, rfc3339FromMs } from '@waybill/model';
import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook, HookRecord } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import { healthOf } from '../client-update.js';
import { type Health, healthTermsOf, HealthWatch, type HealthWatcher, type Watched } from '../health-watch.js';
import type { AllocationRecord } from '../records/allocation-record.js';
import type { ServicesHook } from './services.hook.js';

/**
 * HealthHook holds the health of one allocation. A watch (health-watch.ts) or the servers set it once. It begins again
 * only when the allocation joins another deployment (AG-122, AG-129). States: unset → watched → set; it stays unset
 * without a watch.
 */
export class HealthHook implements AllocationHook, HealthWatcher {
  readonly name = 'health';
  private watch: HealthWatch | null = null;

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
    private readonly services: ServicesHook,
  ) {}

  restore({ health }: AllocationRecord): void {
    this.context.health = health ?? this.context.health;
  }

  record(): HookRecord {
    return { health: this.context.health };
  }

  prerun(): void {
    this.restartWatch();
  }

  /** Watches again from the beginning. An update with another deployment clears the health first (AG-129). */
  update({ DeploymentID }: Allocation): void {
    const { alloc, health } = this.context;
    this.context.health = alloc.DeploymentID === DeploymentID ? (health ?? healthOf(alloc)) : null;
    this.restartWatch();
  }

  tasksChanged(): void {
    this.watch?.evaluateHealth();
  }

  checksChanged(): void {
    this.watch?.evaluateHealth();
  }

  prekill(): void {
    this.stop();
  }

  leave(): void {
    this.stop();
  }

  shutdown(): void {
    this.stop();
  }

  /** Ends the watch. An allocation that the servers stop gets no health (AG-127). */
  stop(): void {
    this.watch?.stop();
    this.watch = null;
  }

  /** Returns the current state that the watch judges. */
  watched(): Watched {
    return { tasks: this.tasks.watchedTasks(), checks: this.services.watched() };
  }

  /** Stores the health. If an allocation of a deployment is unhealthy, each responsible task gets an event (AG-128). */
  decided({ healthy, because }: Health): void {
    const { agent, alloc, control } = this.context;
    this.context.health = { Healthy: healthy, Timestamp: rfc3339FromMs(agent.clock.nowMs()) };
    if (alloc.DeploymentID !== '')
      for (const [name, message] of Object.entries(because))
        this.tasks.runner(name)?.emit('Alloc Unhealthy', { message });
    control.handleChange();
  }

  /** Begins a new watch if the health is to be decided (AG-120 to AG-122, AG-129). */
  private restartWatch(): void {
    this.stop();
    const { alloc, agent, isStopping } = this.context;
    if (isStopping || this.tasks.areDead || isServerTerminal(alloc)) return;
    void this.services.refresh(); // the checks are then known from the first evaluation
    const { job } = this.context;
    const group = findTaskGroup(job, alloc.TaskGroup);
    const terms = group && healthTermsOf(group, job.Type, alloc.DeploymentID !== '');
    if (!terms || this.context.health !== null) return;
    this.watch = new HealthWatch(terms, this, agent.clock, agent.timers);
    this.watch.evaluateHealth();
  }
}
