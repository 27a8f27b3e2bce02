import { type CheckedWorkload, AllocationServices } from '../../services/allocation-services.js';
import type { WatchedCheck } from '../health-watch.js';
import { type RefusedService, servicesOf, type ServicesOfJob } from '../../services/workload-service.js';
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
  /** The services without an address that the tasks' events name already. */
  private told: ReadonlySet<string> = new Set();

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
    const { services, refused } = this.ofJob();
    this.tellRefused(refused.filter(({ task }) => this.isUp(task)));
    return this.services.registerServices(services, this.isUp);
  }

  openGroup(): Promise<void> {
    this.isGroupOpen = true;
    return this.refresh();
  }

  /** Returns why a service of the group has no address (NW-112); undefined if all have one. */
  groupProblem(): string | undefined {
    const refused = this.ofJob().refused.find(({ task }) => task === '');
    return refused && problemOf(refused);
  }

  private ofJob(): ServicesOfJob {
    const { alloc, agent, job, network } = this.context;
    const { region, hostEnv } = agent;
    const status = network?.status ?? alloc.NetworkStatus;
    return servicesOf({ alloc, job, node: agent.node(), region, hostEnv, network: status, networkOf: this.networkOf });
  }

  /**
   * Reports each service that has no address in an event of its task (NW-112), once until its reason changes. A service
   * of the group concerns all tasks.
   */
  private tellRefused(refused: readonly RefusedService[]): void {
    const news = refused.map((one) => ({ task: one.task, message: `services: ${problemOf(one)}` }));
    const keys = new Map(news.map((one) => [`${one.task}\n${one.message}`, one]));
    const before = this.told;
    this.told = new Set(keys.keys());
    for (const [key, { task, message }] of keys) {
      if (before.has(key)) continue;
      if (task === '') this.tasks.emitToLive('Task hook failed', { message });
      else this.tasks.runner(task)?.emit('Task hook failed', { message });
    }
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

const problemOf = ({ service, reason }: RefusedService): string =>
  `unable to get address for service "${service}": ${reason}`;
