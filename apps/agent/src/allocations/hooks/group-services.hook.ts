import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import type { ServicesHook } from './services.hook.js';

/**
 * GroupServicesHook registers the services of the group before its tasks start, and deregisters them before the tasks
 * stop (AG-141, AG-142). An allocation whose group has a service without an address does not start (NW-112).
 */
export class GroupServicesHook implements AllocationHook {
  readonly name = 'group_services';

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
    private readonly services: ServicesHook,
  ) {}

  async prerun(): Promise<void> {
    this.tasks.setWaitReason(''); // the slow steps are over
    if (this.context.isStopping) return void this.services.shutGroup();
    // An allocation of an earlier agent goes on without the service.
    const problem = this.context.isRestored ? undefined : this.services.groupProblem();
    if (problem !== undefined) throw new Error(problem);
    await this.services.openGroup();
  }

  prekill(): Promise<void> {
    return this.services.shutGroup();
  }

  prerestart(): Promise<void> {
    return this.services.shutGroup();
  }

  restarted(): void {
    void this.services.openGroup();
  }
}
