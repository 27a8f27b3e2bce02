import type { Task } from '@waybill/model';
import type { AllocationIdentities } from '../../identities/allocation-identities.js';
import { TaskEnv } from '../../tasks/task-env.js';
import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook, HookRecord } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import type { AllocationRecord } from '../records/allocation-record.js';

/**
 * IdentitiesHook fetches the tokens of an allocation's identities before its tasks start, keeps them in its record, and
 * renews them until the last task is dead (AU-151, AU-152, AU-155). An allocation without identities costs nothing.
 */
export class IdentitiesHook implements AllocationHook {
  readonly name = 'identities';
  private readonly identities: AllocationIdentities | undefined;

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {
    const { id, agent, group, control } = context;
    const owner = { allocId: id, index: () => context.alloc.AllocModifyIndex, save: () => control.save() };
    this.identities = agent.identities?.open(owner, group, (name, task) => this.interpolate(name, task));
  }

  restore({ identities }: AllocationRecord): void {
    this.identities?.restore(identities ?? []);
  }

  record(): HookRecord {
    return this.identities && !this.tasks.areDead ? { identities: this.identities.record() } : {};
  }

  prerun(): Promise<void> | void {
    if (this.identities && !this.tasks.areDead) return this.prepare(this.identities);
  }

  stop(): void {
    this.closeIdentities();
  }

  destroy(): void {
    this.closeIdentities();
  }

  shutdown(): void {
    this.closeIdentities();
  }

  /**
   * Fetches the tokens. A stopping allocation continues without them, because only its poststop tasks may still start.
   * @throws IdentitiesError
   */
  private async prepare(identities: AllocationIdentities): Promise<void> {
    try {
      await identities.prepare();
    } catch (error) {
      if (!this.context.isStopping) throw error;
      const { agent, id } = this.context;
      agent.logger.warn('an allocation that is being stopped has no identities', { alloc: id, error });
    }
  }

  /** Replaces variables in the name of a service, as its registration does. */
  private interpolate(name: string, task: Task | null): string {
    const { alloc, job, agent } = this.context;
    const { region, hostEnv } = agent;
    return new TaskEnv({ alloc, job, task, node: agent.node(), region, hostEnv, paths: null }).interpolate(name);
  }

  private closeIdentities(): void {
    if (this.identities) this.context.agent.identities?.close(this.context.id);
  }
}
