import type { CancelTimer, Timers } from '@waybill/model';
import { insideAlloc, readInside } from '../../paths/inside-allocation.store.js';
import type { TemplateSource } from './template-source.js';

/** The interval in milliseconds between two reads of a template's file. */
export const FILE_LOOK_MS = 2_000;
/** The largest size in bytes of a file that templates read. */
export const MAX_TEMPLATE_FILE_BYTES = 1024 * 1024;

/**
 * Returns the source for files of the allocation. A file that is missing, or that leads out of the allocation, is
 * unknown.
 */
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
      const readAgain = async (): Promise<void> => {
        const text = await read(name);
        if (signal.aborted) return;
        if (text !== undefined) tell(text);
        cancel = timers.after(FILE_LOOK_MS, () => void readAgain());
      };
      void readAgain();
    },
  };
}
