import type { DeploymentChange } from '../deployments/deployment-change.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

export const GROUP_FLAG: Flag = {
  name: 'group',
  kind: 'list',
  value: 'group',
  help: 'Promote this group only; may be repeated.',
};

/** Promotes the groups that flags name, or all groups (DP-1703). @param doing name of the step for an error */
export function promotion(flags: ParsedFlags, doing: string): DeploymentChange {
  const Groups = flags.list('group');
  return {
    path: 'promote',
    doing,
    body: (DeploymentID) => ({ DeploymentID, All: Groups.length === 0, Groups: [...Groups] }),
  };
}
