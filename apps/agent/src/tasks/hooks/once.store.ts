import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { below, pathName } from '../../paths/path-name.js';

/** The extension of mark files. */
export const DONE = '.done';

/**
 * Once records finished work in a task's private directory, so that a restart of the task or of the agent does not
 * repeat it (AG-290).
 * @param what all inputs whose change requires the work again
 */
export class Once {
  private readonly file: string;
  private readonly mark: string;

  constructor(privateDir: string, name: string, what: unknown) {
    this.file = below(privateDir, pathName(name + DONE));
    this.mark = createHash('sha256').update(JSON.stringify(what)).digest('hex');
  }

  async isDone(): Promise<boolean> {
    return (await readFile(this.file, 'utf8').catch(() => '')) === this.mark;
  }

  markDone(): Promise<void> {
    return writeFile(this.file, this.mark);
  }
}
