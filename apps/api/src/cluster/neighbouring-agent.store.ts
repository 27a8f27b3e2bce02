import { readFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * NeighbouringAgent is the agent that runs beside this API instance, if there is one. It is known by the directory that
 * holds its identity.
 */
export class NeighbouringAgent {
  /** @param dir the directory of the agent; "" if there is none */
  constructor(private readonly dir: string) {}

  /** Returns the ID of its node. It is also undefined until the agent has started for the first time (AG-10). */
  async nodeId(): Promise<string | undefined> {
    if (this.dir === '') return undefined;
    const id = await readFile(path.join(this.dir, 'client-id'), 'utf8').catch(() => '');
    return id.trim() || undefined;
  }
}
