import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { below, pathName } from '../../paths/path-name.js';

/** How a mark ends. */
export const DONE = '.done';

/**
 * Remembers in a task's private directory what was done there, so that a restart of the task or of the agent does not do
 * it again (AG-290). `what`: everything that, if it changed, would be a reason to.
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

  done(): Promise<void> {
    return writeFile(this.file, this.mark);
  }
}
