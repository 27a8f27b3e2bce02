import type { AllocListStub, JobSummary } from '../../api/contract.js';
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

/** GroupCounts has the allocations of a group as its job's scale status counts them. */
export interface GroupCounts {
  /** The number of allocations that should run and have not ended, without canaries. */
  readonly placed: number;
  readonly running: number;
  readonly healthy: number;
}

type CountedAllocation = Pick<AllocListStub, 'TaskGroup' | 'DesiredStatus' | 'ClientStatus' | 'DeploymentStatus'>;

const ENDED: ReadonlySet<string> = new Set(['complete', 'failed', 'lost']);

/**
 * Counts the allocations of each group in the list that the page shows anyway (API-174), because a server would read
 * all of them again for each change. Cost: one pass over the list.
 */
export function groupCounts(allocations: readonly CountedAllocation[]): ReadonlyMap<string, GroupCounts> {
  const counts = new Map<string, GroupCounts>();
  for (const { TaskGroup, DesiredStatus, ClientStatus, DeploymentStatus } of allocations) {
    if (DesiredStatus !== 'run' || ENDED.has(ClientStatus) || DeploymentStatus?.Canary === true) continue;
    const { placed, running, healthy } = counts.get(TaskGroup) ?? { placed: 0, running: 0, healthy: 0 };
    counts.set(TaskGroup, {
      placed: placed + 1,
      running: running + (ClientStatus === 'running' ? 1 : 0),
      healthy: healthy + (DeploymentStatus?.Healthy === true ? 1 : 0),
    });
  }
  return counts;
}
