import { type Task, type TaskState, errorText } from '@waybill/model';
import { type TaskConfig, TaskConfigError } from '../drivers/driver.js';
import { HookError } from './hooks/task-hook.js';
import type { RoundEnd } from './restart-tracker.js';
import type { TaskHost } from './task-host.js';

/** What a task needs before its driver is asked to start it, in the order of AG-102. Stateless; a kill ends it at once. */
export class TaskReadying {
  constructor(
    private readonly host: Pick<TaskHost, 'allocId' | 'newId' | 'configure' | 'driver' | 'prestart'>,
    private readonly emit: (type: string, details: Record<string, string>) => void,
  ) {}

  /** @returns what the driver is told, or how the round ended: the events say why (AG-103, AG-104) */
  async ready(
    { Name }: Task,
    { StartedAt, Restarts }: TaskState,
    killed: AbortSignal,
    over: AbortSignal,
  ): Promise<TaskConfig | RoundEnd> {
    let config: TaskConfig;
    try {
      config = await this.host.configure(`${this.host.allocId}/${Name}/${this.host.newId().slice(0, 8)}`);
    } catch (error) {
      const why = errorText(error);
      return this.refused('Task hook failed', { message: `task_dir: ${why}` });
    }
    if (StartedAt === null && Restarts === 0) this.emit('Task Setup', { message: 'Building Task Directory' });
    try {
      this.host.driver.validate(config);
      return await this.host.prestart(config, killed, over);
    } catch (error) {
      if (error instanceof TaskConfigError)
        return this.refused('Failed Validation', { validation_error: error.message, fails_task: 'true' });
      if (error instanceof HookError) return this.refused(error.event.type, error.event.details, error.recoverable);
      throw error;
    }
  }

  private refused(type: string, details: Record<string, string>, recoverable = false): RoundEnd {
    this.emit(type, details);
    return { kind: 'start-error', recoverable };
  }
}
