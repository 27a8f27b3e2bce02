import type { TaskLine } from './history.js';

/** Above the highest number that Linux gives a process. */
const PIDS = 2 ** 22;

/**
 * The lines that tasks have written. The machine gives the number of a process again: each one that begins under a number
 * counts as another process, so `pid` is its number and how often it was used before.
 */
export function linesOf(text: string): TaskLine[] {
  const uses = new Map<number, number>();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [job = '', alloc = '', number = '', what = ''] = line.split(' ');
      const pid = Number(number);
      const used = (uses.get(pid) ?? -1) + (what === 'ended' ? 0 : 1);
      uses.set(pid, used);
      return { job, alloc, pid: pid + PIDS * Math.max(0, used), what: what === 'ended' ? 'ended' : 'begun' };
    });
}

/** Those of the lines' processes that live. @param lives whether a process with this number lives */
export function livingOf(lines: readonly TaskLine[], lives: (number: number) => boolean): Set<number> {
  const newest = new Map(lines.map(({ pid }) => [pid % PIDS, pid]));
  return new Set([...newest].flatMap(([number, pid]) => (lives(number) ? pid : [])));
}
