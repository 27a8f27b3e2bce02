import type { AllocatedDevice } from '@waybill/model';
import type { ReservationMessage } from '@waybill/plugins';
import { type HookedTask, HookError, type TaskAdditions, type TaskHook, type TaskStart } from '../task-hook.js';

export interface DevicesHookDependencies {
  /** Returns what a task needs to use the devices that it was assigned. @throws Error with the reason */
  readonly reserve: (device: AllocatedDevice) => Promise<ReservationMessage>;
}

/**
 * DevicesHook gives a task the devices that the scheduler assigned to it (PG-97). A plugin is asked once; the result is
 * kept over restarts of the task. Memory: one entry per live task with devices.
 */
export class DevicesHook implements TaskHook {
  readonly name = 'devices';
  private readonly reserved = new Map<string, TaskAdditions>();

  constructor(private readonly deps: DevicesHookDependencies) {}

  async prestart({ alloc, task }: Pick<TaskStart, 'alloc' | 'task'>): Promise<TaskAdditions | void> {
    const assigned = alloc.AllocatedResources.Tasks[task.Name]?.Devices ?? [];
    if (assigned.length === 0) return undefined;
    const key = `${alloc.ID}/${task.Name}`;
    const known = this.reserved.get(key);
    if (known) return known;
    const additions = await this.reserve(assigned);
    this.reserved.set(key, additions);
    return additions;
  }

  async stop({ alloc, task }: Pick<HookedTask, 'alloc' | 'task'>): Promise<void> {
    this.reserved.delete(`${alloc.ID}/${task.Name}`);
  }

  /** @throws HookError, which another try may overcome */
  private async reserve(assigned: readonly AllocatedDevice[]): Promise<TaskAdditions> {
    const all: ReservationMessage[] = [];
    for (const device of assigned) {
      try {
        all.push(await this.deps.reserve(device));
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const details = { message: `devices: ${message}` };
        throw new HookError(message, true, { type: 'Task hook failed', details }, { cause: error });
      }
    }
    const env: Record<string, string> = {};
    for (const { envs } of all) Object.assign(env, envs);
    return {
      env,
      deviceEnv: env,
      mounts: all.flatMap(({ mounts }) =>
        mounts.map(({ task_path: destination, host_path: source, read_only: readOnly }) => {
          return { source, destination, readOnly, propagation: '' };
        }),
      ),
      devices: all.flatMap(({ devices }) =>
        devices.map(({ task_path: destination, host_path: source, permissions }) => ({
          source,
          destination: destination || source,
          permissions: permissions || 'rwm',
        })),
      ),
    };
  }
}
