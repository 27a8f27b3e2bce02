import { readdir, readFile } from 'node:fs/promises';
import { eventually } from './wait.js';

/** Stops a process with SIGSTOP. The signal reaches its threads one by one: resolves when none of them runs any more. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await eventually(`process ${pid} has stopped`, async () => {
    const threads = await readdir(`/proc/${pid}/task`);
    const states = await Promise.all(threads.map((thread) => stateOf(pid, thread)));
    return states.every((state) => state === 'T');
  });
}

export const thaw = (pid: number): void => void process.kill(pid, 'SIGCONT');

async function stateOf(pid: number, thread: string): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
}
