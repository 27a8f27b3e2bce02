import { type Allocation, type ChangeScript, type Job, type Task, errorText } from '@waybill/model';
import type { TaskConfig, TaskMount } from '../drivers/driver.js';

/** What a hook may have done to the task while it runs. Nothing of it happens to one that does not run. */
export interface TaskControl {
  /** Uncounted by the restart policy (AG-160). */
  restart(reason: string): Promise<void>;
  signal(signal: string, details: Record<string, string>): Promise<void>;
  kill(details: Record<string, string>): Promise<void>;
  /** In the task's place. @throws when it fails and may not */
  runScript(script: ChangeScript): Promise<void>;
}

/** A task of this machine, as the servers want it now. */
export interface HookedTask {
  readonly alloc: Allocation;
  readonly job: Job;
  readonly task: Task;
  /** Adds an event to the task. */
  emit(type: string, details?: Record<string, string>): void;
}

/** A task that is about to start, or that goes on after a restart of the agent. */
export interface TaskStart extends HookedTask {
  readonly config: TaskConfig;
  /** Interpolates a text for the agent itself: directories have their paths on the machine (AG-234). */
  readonly interpolate: (text: string) => string;
  /** Interpolates a text for the driver: directories have their paths in the task's view (AG-234). */
  readonly interpolateInTask: (text: string) => string;
  /** One of the names that can be interpolated. */
  readonly lookup: (name: string) => string | undefined;
  /** Aborted when the task is killed. */
  readonly signal: AbortSignal;
  /** Aborted when this start of the task has come to its end. */
  readonly over: AbortSignal;
  readonly control: TaskControl;
}

/** What a hook gives a task beside its files. */
export interface TaskAdditions {
  /** Wins over the task's own (AG-232); what is interpolated sees it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly TaskMount[];
}

/**
 * One concern of a task beside its process. One hook serves all tasks of the machine; the runner of a task
 * (task-runner.ts) calls the hooks of the list in task-hooks.service.ts, in its order:
 *
 * prestart     before each start (AG-102)
 * poststart    after each start
 * restore      instead of both, for a task that ran on without the agent
 * exited       when the task's process has ended, before the restart policy decides
 * stop         when the task is dead; an allocation that is restarted as a whole may revive it
 */
export interface TaskHook {
  readonly name: string;
  /** Most act before the first start only. @throws HookError, or anything else: the task cannot start, and is not tried again */
  prestart?(start: TaskStart): Promise<TaskAdditions | void>;
  /** The next hook waits for it. @throws anything: logged, and the task goes on */
  poststart?(task: HookedTask): Promise<void>;
  /** @throws anything: logged, and the task goes on */
  restore?(start: TaskStart): Promise<void>;
  /** The next hook waits for it. @throws anything: logged, and the task goes on */
  exited?(task: HookedTask): Promise<void>;
  /** Never waited for. @throws anything: logged */
  stop?(task: HookedTask): Promise<void>;
}

/** Why a task cannot start, as its event says it (AG-103). */
export class HookError extends Error {
  override readonly name = 'HookError';
  constructor(
    message: string,
    /** The restart policy may try again. */
    readonly recoverable: boolean,
    readonly event: { readonly type: string; readonly details: Record<string, string> },
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Runs prestart hooks one after the other. @returns what they add, the later ones win. @throws HookError */
export async function runPrestart(hooks: readonly TaskHook[], start: TaskStart): Promise<Required<TaskAdditions>> {
  const env: Record<string, string> = {};
  const mounts: TaskMount[] = [];
  for (const hook of hooks) {
    if (start.signal.aborted) break;
    try {
      const added = await hook.prestart?.(start);
      Object.assign(env, added?.env);
      for (const item of added?.mounts ?? []) mounts.push(item);
    } catch (error) {
      if (start.signal.aborted) break; // whatever it was, nobody waits for it any more
      if (error instanceof HookError) throw error;
      const message = errorText(error);
      const details = { message: `${hook.name}: ${message}` };
      throw new HookError(message, false, { type: 'Task hook failed', details }, { cause: error });
    }
  }
  return { env, mounts };
}
