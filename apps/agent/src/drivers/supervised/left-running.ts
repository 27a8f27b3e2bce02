import { readdir } from 'node:fs/promises';
import { isAlive, type ProcessIdentity, sendSignal } from '@waybill/processes';
import { allocOfRun, processOf } from './supervisor.js';
import { NoCgroupsError, TaskCgroups } from '../task-cgroups.store.js';
import { pause } from '../waiting.js';
import { below, entryName, ownDirectory } from '../../paths/path-name.js';

/** The longest wait for killed processes to end, in milliseconds. */
const VANISH_TIMEOUT_MS = 5_000;
const LOOK_MS = 10;

/** LeftRunning is a process that an agent started. The current agent may not know its allocation. */
export interface LeftRunning {
  readonly allocId: string;
  readonly pid: number;
}

/** Returns the running tasks below a directory of runs, of any agent. Cost: O(runs). */
export async function leftRunning(runsDir: string): Promise<LeftRunning[]> {
  return (await runningBelow(runsDir)).map(({ run, identity }) => ({ allocId: allocOfRun(run), pid: identity.pid }));
}

/**
 * Kills every task that runs below an agent's directory, with all processes that the task started, and waits up to
 * VANISH_TIMEOUT_MS until they are gone. No agent may use the directory. Cost: O(runs).
 * @returns the number of tasks that ran
 */
export async function killLeftRunning(agentDir: string): Promise<number> {
  const left = await runningBelow(below(ownDirectory(agentDir), 'runs'));
  if (left.length === 0) return 0;
  for (const { identity } of left) killWithGroup(identity);
  const cgroups = await TaskCgroups.find().catch((error: unknown) => {
    if (error instanceof NoCgroupsError) return undefined;
    throw error;
  });
  for (const { run } of left) await cgroups?.kill(run);
  const deadline = performance.now() + VANISH_TIMEOUT_MS;
  while (left.some(({ identity }) => isAlive(identity)) && performance.now() < deadline) await pause(LOOK_MS);
  return left.length;
}

async function runningBelow(runsDir: string): Promise<{ readonly run: string; readonly identity: ProcessIdentity }[]> {
  const runs = await readdir(runsDir).catch(() => []);
  const found = await Promise.all(
    runs.map(async (run) => {
      const identity = await processOf(below(runsDir, entryName(run)));
      return identity && isAlive(identity) ? [{ run, identity }] : [];
    }),
  );
  return found.flat();
}

/**
 * Kills a task and its process group. A task in a process namespace leads no group, but the other processes there end
 * with it.
 */
export function killWithGroup(task: ProcessIdentity): void {
  if (!isAlive(task)) return;
  sendSignal(task.pid, 'SIGKILL');
  sendSignal(task.pid, 'SIGKILL', true);
}
