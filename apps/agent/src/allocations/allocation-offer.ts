import type { Allocation } from '@waybill/model';
import type { AllocServices } from '../services/allocation-services.js';
import { servicesOf } from '../services/workload-service.js';
import type { TaskCrew } from '../tasks/task-crew.js';
import type { AllocHost } from './allocation-host.js';
import { jobOf } from './allocation-report.js';

/**
 * Which services of an allocation may be used: the group's while it is open, a task's while that offers them (AG-140 to
 * AG-144). shut ⇄ open: from before its tasks start until its way down, or for the time of a restart of several tasks.
 */
export class AllocOffer {
  constructor(
    private readonly host: Pick<AllocHost, 'node' | 'region' | 'hostEnv'>,
    private readonly alloc: () => Allocation,
    private readonly crew: TaskCrew,
    private readonly services: AllocServices,
    private isOpen: boolean,
  ) {}

  /** Resolves when the servers were told what is up, or could not be at first. */
  refresh(): Promise<void> {
    const alloc = this.alloc();
    const { region, hostEnv, node } = this.host;
    const networkOf = (task: string) => this.crew.runner(task)?.network ?? null;
    const place = { alloc, job: jobOf(alloc), node: node(), region, hostEnv, networkOf };
    const isUp = (task: string): boolean =>
      task === '' ? this.isOpen && !this.crew.isDead : this.crew.runner(task)?.isOffering === true;
    return this.services.offer(servicesOf(place), isUp);
  }

  open(): Promise<void> {
    this.isOpen = true;
    return this.refresh();
  }

  /** The group's; resolves when the servers know, or took too long (AG-142). */
  shut(): Promise<void> {
    this.isOpen = false;
    return this.withdrawn();
  }

  /** The same for what is no longer up. */
  withdrawn(): Promise<void> {
    return this.services.briefly(this.refresh());
  }
}
