import type { CancelTimer, Timers } from '@waybill/model';
import { insideAlloc, readInside } from '../../paths/inside-allocation.store.js';
import type { TemplateSource } from './template-source.js';

/** A file that a template reads is looked at so often. */
export const FILE_LOOK_MS = 2_000;
/** Longer ones are not read. */
export const MAX_TEMPLATE_FILE_BYTES = 1024 * 1024;

/** Files of the allocation; one that is not there, or leads out of it, is not known. */
export function fileSource(taskDir: string, timers: Timers): TemplateSource {
  const read = async (name: string): Promise<string | undefined> => {
    try {
      return await readInside(taskDir, await insideAlloc(taskDir, name), MAX_TEMPLATE_FILE_BYTES);
    } catch {
      return undefined;
    }
  };
  return {
    watch(name, tell, signal) {
      let cancel: CancelTimer = () => {};
      signal.addEventListener('abort', () => cancel(), { once: true });
      const look = async (): Promise<void> => {
        const text = await read(name);
        if (signal.aborted) return;
        if (text !== undefined) tell(text);
        cancel = timers.after(FILE_LOOK_MS, () => void look());
      };
      void look();
    },
  };
}
