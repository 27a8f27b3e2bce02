import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The agent that runs beside this API instance, if there is one: known by the directory it keeps its identity in. */
export class NeighbouringAgent {
  /** @param dir of the agent; "": there is none */
  constructor(private readonly dir: string) {}

  /** Undefined also as long as the agent has not begun for the first time (AG-10). */
  async nodeId(): Promise<string | undefined> {
    if (this.dir === '') return undefined;
    const id = await readFile(path.join(this.dir, 'client-id'), 'utf8').catch(() => '');
    return id.trim() || undefined;
  }
}
