import type { JobSummary } from '../../api/contract.js';
import type { Tone } from '../../components/status.js';

export interface Count {
  readonly name: string;
  readonly tone: Tone;
  readonly count: number;
}

/** Returns a job's allocations by their state, over all groups. Empty states are omitted. */
export function countsOf({ Summary }: Pick<JobSummary, 'Summary'>): readonly Count[] {
  const groups = Object.values(Summary);
  const sum = (of: keyof (typeof groups)[number]): number => groups.reduce((total, group) => total + group[of], 0);
  const counts: readonly Count[] = [
    { name: 'running', tone: 'good', count: sum('Running') },
    { name: 'starting', tone: 'busy', count: sum('Starting') },
    { name: 'not placed', tone: 'warn', count: sum('Queued') },
    { name: 'unknown', tone: 'warn', count: sum('Unknown') },
    { name: 'failed', tone: 'bad', count: sum('Failed') },
    { name: 'lost', tone: 'bad', count: sum('Lost') },
    { name: 'complete', tone: 'quiet', count: sum('Complete') },
  ];
  return counts.filter(({ count }) => count > 0);
}
