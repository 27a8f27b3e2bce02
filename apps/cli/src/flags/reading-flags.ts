import type { Flag } from './flag.js';

/** Number of lines for `-tail` without `-n`. */
export const DEFAULT_LINES = 10;

/** Flags that select the start or the end of a file or output (CL-411, CL-421). */
export const END_FLAGS: readonly Flag[] = [
  { name: 'tail', kind: 'switch', help: `Only the end: the last ${DEFAULT_LINES} lines.` },
  { name: 'n', kind: 'integer', value: 'lines', help: 'With -tail: number of lines.' },
  { name: 'c', kind: 'integer', value: 'bytes', help: 'With -tail: number of bytes.' },
];

/** Flags that select an allocation by its job (CL-416). */
export const OF_JOB_FLAGS: readonly Flag[] = [
  { name: 'job', kind: 'switch', help: 'The argument is a job. The command chooses one of its running allocations.' },
  { name: 'group', kind: 'text', value: 'group', help: 'With -job: an allocation of this group.' },
];
