import { type Allocation, type ChangeScript, type Job, type Task, errorText } from '@waybill/model';
import type { TaskConfig, TaskDevice, TaskMount } from '../drivers/driver.js';

/** TaskControl is what a hook can do to a running task. Its calls do nothing to a task that does not run. */
export interface TaskControl {
  /** Restarts the task. The restart policy does not count it (AG-160). */
  restart(reason: string): Promise<void>;
  signal(signal: string, details: Record<string, string>): Promise<void>;
  kill(details: Record<string, string>): Promise<void>;
  /** Runs a script in the task's environment. @throws an error if the script fails and its failure counts */
  runScript(script: ChangeScript): Promise<void>;
}

/** HookedTask is a task of this machine, as the servers want it now. */
export interface HookedTask {
  readonly alloc: Allocation;
  readonly job: Job;
  readonly task: Task;
  /** Adds an event to the task. */
  emit(type: string, details?: Record<string, string>): void;
}

/** TaskStart is a task that is about to start, or that continues after a restart of the agent. */
export interface TaskStart extends HookedTask {
  readonly config: TaskConfig;
  /** Interpolates a text for the agent itself: directories have their paths on the machine (AG-234). */
  readonly interpolate: (text: string) => string;
  /** Interpolates a text for the driver: directories have their paths in the task's view (AG-234). */
  readonly interpolateInTask: (text: string) => string;
  /** Returns the value of a name that can be interpolated. */
  readonly lookup: (name: string) => string | undefined;
  /** Aborted when the task is killed. */
  readonly signal: AbortSignal;
  /** Aborted when this start of the task has ended. */
  readonly over: AbortSignal;
  readonly control: TaskControl;
}

/** TaskAdditions are a hook's additions to a task, beside files. */
export interface TaskAdditions {
  /** Variables that win over the task's own (AG-232). Interpolation sees them. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly TaskMount[];
  readonly devices?: readonly TaskDevice[];
  /** The part of `env` that belongs to devices. */
  readonly deviceEnv?: Readonly<Record<string, string>>;
}

/**
 * TaskHook handles one concern of a task beside its process. One hook serves all tasks of the machine. The runner of a
 * task (task-runner.ts) calls the hooks of the list in task-hooks.service.ts, in its order:
 *
 * prestart     before each start (AG-102)
 * poststart    after each start
 * restore      instead of both, for a task that continued without the agent
 * exited       when the task's process has ended, before the restart policy decides
 * stop         when the task is dead; a restart of the whole allocation may revive it
 */
export interface TaskHook {
  readonly name: string;
  /**
   * Prepares a start. Most hooks act only before the first start.
   * @throws HookError, or any other error: then the task cannot start, and the agent does not try again
   */
  prestart?(start: TaskStart): Promise<TaskAdditions | void>;
  /** The next hook waits for it. @throws any error, which is logged; the task continues */
  poststart?(task: HookedTask): Promise<void>;
  /** @throws any error, which is logged; the task continues */
  restore?(start: TaskStart): Promise<void>;
  /** The next hook waits for it. @throws any error, which is logged; the task continues */
  exited?(task: HookedTask): Promise<void>;
  /** The runner does not wait for it. @throws any error, which is logged */
  stop?(task: HookedTask): Promise<void>;
}

/** HookError says that a task cannot start. It contains the task's event (AG-103). */
export class HookError extends Error {
  override readonly name = 'HookError';
  constructor(
    message: string,
    /** Whether the restart policy may try again. */
    readonly recoverable: boolean,
    readonly event: { readonly type: string; readonly details: Record<string, string> },
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Runs prestart hooks one after the other. @returns their additions; later ones win. @throws HookError */
export async function runPrestart(hooks: readonly TaskHook[], start: TaskStart): Promise<Required<TaskAdditions>> {
  const env: Record<string, string> = {};
  const deviceEnv: Record<string, string> = {};
  const mounts: TaskMount[] = [];
  const devices: TaskDevice[] = [];
  for (const hook of hooks) {
    if (start.signal.aborted) break;
    try {
      const added = await hook.prestart?.(start);
      Object.assign(env, added?.env);
      Object.assign(deviceEnv, added?.deviceEnv);
      for (const item of added?.mounts ?? []) mounts.push(item);
      for (const item of added?.devices ?? []) devices.push(item);
    } catch (error) {
      if (start.signal.aborted) break; // the kill ends the start, so no caller needs the error
      if (error instanceof HookError) throw error;
      const message = errorText(error);
      const details = { message: `${hook.name}: ${message}` };
      throw new HookError(message, false, { type: 'Task hook failed', details }, { cause: error });
    }
  }
  return { env, deviceEnv, mounts, devices };
}
