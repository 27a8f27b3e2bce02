import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { insideAlloc } from './inside-alloc.js';
import { Once } from './once.store.js';
import type { TaskHook, TaskStart } from './task-hook.js';

/** AG-291: what a job was dispatched with, as a file in the task's local directory, before its first start. */
export class DispatchPayloadHook implements TaskHook {
  readonly name = 'dispatch_payload';

  async prestart({ job, task, config }: TaskStart): Promise<void> {
    const { DispatchPayload } = task;
    if (!DispatchPayload?.File || !job.Payload) return;
    const once = new Once(config.paths.privateDir, this.name, [DispatchPayload.File, job.Payload]);
    if (await once.isDone()) return;
    const file = await insideAlloc(config.paths.taskDir, path.join('local', DispatchPayload.File));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, Buffer.from(job.Payload, 'base64'));
    await once.done();
  }
}
