import { type CheckedWorkload, AllocationServices } from '../../services/allocation-services.js';
import type { WatchedCheck } from '../health-watch.js';
import { servicesOf } from '../../services/workload-service.js';
import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook, HookRecord } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import type { AllocationRecord } from '../records/allocation-record.js';

/**
 * ServicesHook registers the services of an allocation and runs their checks: the group's while the group is open, a
 * task's while the task offers them (AG-140 to AG-147).
 *
 * States of the group: shut ⇄ open. group-services.hook.ts opens it before the tasks start, shuts it before they stop,
 * and does both for a restart of several tasks. Cost of a change: O(services and checks).
 */
export class ServicesHook implements AllocationHook, CheckedWorkload {
  readonly name = 'services';
  private readonly services: AllocationServices;
  private isGroupOpen = false;

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {
    const { id, agent } = context;
    this.services = new AllocationServices({ ...agent, allocId: id, workload: this });
  }

  restore({ services }: AllocationRecord): void {
    this.isGroupOpen = true;
    if (services) this.services.restore(services);
  }

  record(): HookRecord {
    return { services: this.services.record() };
  }

  tasksChanged(): void {
    void this.refresh();
  }

  /**
   * Deregisters the services of tasks that no longer run. Resolves when the servers know it, or after a timeout
   * (AG-142).
   */
  taskGoesDown(): Promise<void> {
    return this.services.waitBriefly(this.refresh());
  }

  /** Removes the services of tasks that have ended (AG-142). */
  postrun(): Promise<void> {
    return this.services.waitBriefly(this.refresh());
  }

  leave(): Promise<void> {
    return this.services.deregisterServices();
  }

  destroy(): void {
    this.services.close();
  }

  async shutdown(): Promise<void> {
    await this.services.deregisterServices();
    this.services.close();
  }

  /** Updates the registrations. Resolves after the first attempt to tell the servers, even if it fails. */
  refresh(): Promise<void> {
    const { alloc, agent, job, network } = this.context;
    const { region, hostEnv } = agent;
    const status = network?.status ?? alloc.NetworkStatus;
    const place = { alloc, job, node: agent.node(), region, hostEnv, network: status, networkOf: this.networkOf };
    return this.services.registerServices(servicesOf(place), this.isUp);
  }

  openGroup(): Promise<void> {
    this.isGroupOpen = true;
    return this.refresh();
  }

  /** Shuts the group. Resolves when the servers know it, or after a timeout (AG-142). */
  shutGroup(): Promise<void> {
    this.isGroupOpen = false;
    return this.services.waitBriefly(this.refresh());
  }

  /** Returns the checks that health depends on. */
  watched(): WatchedCheck[] {
    return this.services.watchedChecks();
  }

  checkChanged(): void {
    this.context.control.checksChanged();
  }

  upSinceMs(task: string): number | undefined {
    return this.tasks.upSinceMs(task);
  }

  /** Restarts a task whose check has failed for too long (AG-147). */
  restartUnhealthy(task: string, reason: string): void {
    void this.tasks.restartUnhealthy(task, reason);
  }

  private readonly networkOf = (task: string) => this.tasks.runner(task)?.network ?? null;

  private readonly isUp = (task: string): boolean =>
    task === '' ? this.isGroupOpen && !this.tasks.areDead : this.tasks.runner(task)?.isOffering === true;
}
