import { readdir } from 'node:fs/promises';
import { isAlive } from '@waybill/processes';
import { allocOfRun, processOf } from './supervisor.js';
import { below, entryName } from '../../paths/path-name.js';

/** A process that an agent has started, and whose allocation the agent of today may not know. */
export interface LeftRunning {
  readonly allocId: string;
  readonly pid: number;
}

/** Tasks that run below a directory of runs, whoever started them. O(runs). */
export async function leftRunning(runsDir: string): Promise<LeftRunning[]> {
  const runs = await readdir(runsDir).catch(() => []);
  const found = await Promise.all(
    runs.map(async (run) => {
      const identity = await processOf(below(runsDir, entryName(run)));
      return identity && isAlive(identity) ? [{ allocId: allocOfRun(run), pid: identity.pid }] : [];
    }),
  );
  return found.flat();
}
