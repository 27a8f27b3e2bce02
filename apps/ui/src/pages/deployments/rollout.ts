import type { Deployment } from '../../api/contract.js';

const ACTIVE: readonly string[] = ['running', 'paused', 'blocked', 'unblocking', 'initializing', 'pending'];

export const isActive = ({ Status }: Pick<Deployment, 'Status'>): boolean => ACTIVE.includes(Status);

/** Returns the groups about whose canaries somebody has to decide. */
export const groupsToPromote = (deployment: Pick<Deployment, 'Status' | 'TaskGroups'>): readonly string[] =>
  isActive(deployment)
    ? Object.entries(deployment.TaskGroups)
        .filter(([, { DesiredCanaries, Promoted, AutoPromote }]) => DesiredCanaries > 0 && !Promoted && !AutoPromote)
        .map(([name]) => name)
    : [];

/** Returns the progress of a rollout over all groups. */
export function progressOf({ TaskGroups }: Pick<Deployment, 'TaskGroups'>): {
  readonly healthy: number;
  readonly wanted: number;
} {
  const groups = Object.values(TaskGroups);
  const wantedOf = ({ DesiredTotal, DesiredCanaries, Promoted }: (typeof groups)[number]): number =>
    DesiredCanaries > 0 && !Promoted ? DesiredCanaries : DesiredTotal;
  return {
    healthy: groups.reduce((sum, { HealthyAllocs }) => sum + HealthyAllocs, 0),
    wanted: groups.reduce((sum, group) => sum + wantedOf(group), 0),
  };
}
