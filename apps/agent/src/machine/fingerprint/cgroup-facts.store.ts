import { readFileSync } from 'node:fs';
import { belowAsText } from '../../paths/path-name.js';
import type { CgroupFacts } from './cgroup-limits.js';

/**
 * Asks the kernel for the cgroups of a process; what it does not say is empty.
 * @param proc the directory of the process, as it sees its mounts
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
    return ''; // not there, or not for us
  }
}
