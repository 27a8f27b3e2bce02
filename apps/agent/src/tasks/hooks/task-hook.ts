import { type Allocation, type ChangeScript, type Job, type Task, errorText } from '@waybill/model';
import type { TaskConfig, TaskMount } from '../../drivers/driver.js';

/** What a hook may have done to the task while it runs. Nothing of it happens to one that does not run. */
export interface TaskControl {
  /** Uncounted by the restart policy (AG-160). */
  restart(reason: string): Promise<void>;
  signal(signal: string, details: Record<string, string>): Promise<void>;
  kill(details: Record<string, string>): Promise<void>;
  /** In the task's place. @throws when it fails and may not */
  run(script: ChangeScript): Promise<void>;
}

/** A task that is about to start, or that goes on after a restart of the agent. */
export interface TaskStart {
  readonly alloc: Allocation;
  readonly job: Job;
  readonly task: Task;
  readonly config: TaskConfig;
  /** AG-234, for what the agent does itself: directories are at their paths on the machine. */
  readonly interpolate: (text: string) => string;
  /** AG-234, for what the driver makes in the task's own view: directories are where the task finds them. */
  readonly interpolateInTask: (text: string) => string;
  /** One of the names that can be interpolated. */
  readonly lookup: (name: string) => string | undefined;
  /** Aborted when the task is killed. */
  readonly signal: AbortSignal;
  /** Aborted when this start of the task has come to its end. */
  readonly over: AbortSignal;
  readonly control: TaskControl;
  readonly emit: (type: string, details?: Record<string, string>) => void;
}

/** What a hook gives a task beside its files. */
export interface TaskAdditions {
  /** Wins over the task's own (AG-232); what is interpolated sees it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly TaskMount[];
}

/** What is done in a task's directories before it starts (AG-102). Called before each start; most act on the first only. */
export interface TaskHook {
  readonly name: string;
  /** @throws HookError, or anything else: the task cannot start, and is not tried again */
  prestart(start: TaskStart): Promise<TaskAdditions | void>;
  /** Called instead for a task that ran on without the agent. @throws anything: logged, and the task goes on */
  attach?(start: TaskStart): Promise<void>;
}

/** AG-103: why a task cannot start, as its event says it. */
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

/** Runs hooks one after the other. @returns what they add, the later ones win. @throws HookError */
export async function runHooks(hooks: readonly TaskHook[], start: TaskStart): Promise<Required<TaskAdditions>> {
  const env: Record<string, string> = {};
  const mounts: TaskMount[] = [];
  for (const hook of hooks) {
    if (start.signal.aborted) break;
    try {
      const added = await hook.prestart(start);
      Object.assign(env, added?.env);
      mounts.push(...(added?.mounts ?? []));
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
