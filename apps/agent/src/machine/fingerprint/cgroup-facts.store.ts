import { readFileSync } from 'node:fs';
import { belowAsText } from '../../paths/path-name.js';
import type { CgroupFacts } from './cgroup-limits.js';

/**
 * Reads the cgroups of a process from the kernel. Values that the kernel does not show are empty.
 * @param proc the directory of the process, as the process sees its mounts
 */
export function readCgroupFacts(proc = '/proc/self'): CgroupFacts {
  return {
    membership: textOf(belowAsText(proc, 'cgroup')),
    mountinfo: textOf(belowAsText(proc, 'mountinfo')),
    textOf,
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the file does not exist, or the agent may not read it
  }
}
