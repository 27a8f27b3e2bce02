import { inOpenParent } from '../../paths/inside-allocation.store.js';
import { Once } from './once.store.js';
import type { TaskHook, TaskStart } from '../task-hook.js';

/**
 * DispatchPayloadHook writes the payload of a dispatched job to a file in the task's local directory, before its first
 * start (AG-291). A dispatch without payload writes an empty file, so a task can open it either way.
 */
export class DispatchPayloadHook implements TaskHook {
  readonly name = 'dispatch_payload';

  async prestart({ job, task, config }: TaskStart): Promise<void> {
    const { DispatchPayload } = task;
    if (!DispatchPayload?.File || !job.Dispatched) return;
    const once = new Once(config.paths.privateDir, this.name, [DispatchPayload.File, job.Payload]);
    if (await once.isDone()) return;
    const payload = Buffer.from(job.Payload ?? '', 'base64');
    await inOpenParent(config.paths.taskDir, `local/${DispatchPayload.File}`, (parent, name) =>
      parent.replace(name, (file) => file.writeFile(payload)),
    );
    await once.markDone();
  }
}
