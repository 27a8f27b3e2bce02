import { errorText, type Task } from '@waybill/model';
import { NO_SIGNALS, StartError, type TaskConfig, TaskConfigError } from '../drivers/driver.js';
import { HookError } from './task-hook.js';
import type { RoundEnd } from './restart-tracker.js';
import type { TaskContext } from './task-context.js';
import type { TaskRound } from './task-preparation.js';

/**
 * TaskPrestart prepares a task before its driver starts it, in the order of AG-102. Stateless; a kill ends it at once.
 */
export class TaskPrestart {
  constructor(private readonly context: TaskContext) {}

  /** Prepares a start. @returns the driver's input, or the end of the round; the events say why (AG-103, AG-104) */
  async prepareTask(round: TaskRound): Promise<TaskConfig | RoundEnd> {
    const { context } = this;
    const { allocId, agent, task, state, driver, preparation } = context;
    let config: TaskConfig;
    try {
      config = await context.configure(`${allocId}/${task.Name}/${agent.newId().slice(0, 8)}`);
    } catch (error) {
      return this.refuseStart('Task hook failed', { message: `task_dir: ${errorText(error)}` });
    }
    if (state.StartedAt === null && state.Restarts === 0)
      context.emit('Task Setup', { message: 'Building Task Directory' });
    try {
      await driver.validate(config);
      if (driver.sendsSignals === false && needsSignals(task)) throw new TaskConfigError(NO_SIGNALS);
      return await preparation.prestart(config, context, round);
    } catch (error) {
      if (error instanceof TaskConfigError)
        return this.refuseStart('Failed Validation', { validation_error: error.message, fails_task: 'true' });
      if (error instanceof StartError)
        return this.refuseStart('Driver Failure', { driver_error: error.message }, error.recoverable);
      if (error instanceof HookError) return this.refuseStart(error.event.type, error.event.details, error.recoverable);
      throw error;
    }
  }

  private refuseStart(type: string, details: Record<string, string>, recoverable = false): RoundEnd {
    this.context.emit(type, details);
    return { kind: 'start-error', recoverable };
  }
}

/** Whether a change of a template or an identity sends a signal to the task (PG-52). */
const needsSignals = ({ Templates, Identity, Identities }: Task): boolean =>
  [...(Templates ?? []), ...(Identity ? [Identity] : []), ...(Identities ?? [])].some(
    ({ ChangeMode }) => ChangeMode === 'signal',
  );
