import type { Deployment, DeploymentState } from '../../api/contract.js';
import { TimeAgo } from '../../components/clock.js';
import { type Column, Rows } from '../../components/rows.js';
import { Action } from '../../components/action.js';
import { promoteDeployment } from '../../api/changes.js';
import { groupsToPromote, isActive } from './rollout.js';

interface GroupRow extends DeploymentState {
  readonly name: string;
  readonly deployment: Deployment;
}

const COLUMNS: readonly Column<GroupRow>[] = [
  { title: 'Group', px: 80, share: 2, cell: ({ name }) => name },
  {
    title: 'Canaries',
    extra: true,
    px: 110,
    share: 1,
    cell: ({ DesiredCanaries, Promoted }) =>
      DesiredCanaries === 0 ? 'none' : `${DesiredCanaries}, ${Promoted ? 'promoted' : 'not promoted'}`,
  },
  { title: 'Desired', px: 60, align: 'right', cell: ({ DesiredTotal }) => DesiredTotal },
  { title: 'Placed', extra: true, px: 60, align: 'right', cell: ({ PlacedAllocs }) => PlacedAllocs },
  { title: 'Healthy', px: 60, align: 'right', cell: ({ HealthyAllocs }) => HealthyAllocs },
  { title: 'Unhealthy', px: 72, align: 'right', cell: ({ UnhealthyAllocs }) => UnhealthyAllocs },
  {
    title: 'Deadline',
    extra: true,
    px: 90,
    align: 'right',
    cell: ({ RequireProgressBy, deployment }) => (isActive(deployment) ? <TimeAgo time={RequireProgressBy} /> : '—'),
  },
];

const PROMOTE: Column<GroupRow> = {
  title: 'Change',
  px: 92,
  align: 'right',
  cell: ({ name, deployment }) =>
    groupsToPromote(deployment).includes(name) && (
      <Action
        needs={{ route: 'promoteDeployment', namespace: deployment.Namespace }}
        label="Promote"
        title={`Promote the canaries of ${name}?`}
        text="They become the version that runs in this group; the other groups still wait."
        run={() => promoteDeployment(deployment.ID, name)}
      />
    ),
};

/** The groups of a rollout. If several wait for a promotion, each can be promoted by itself. */
export function DeploymentGroups({ deployment }: { readonly deployment: Deployment }) {
  const groups = Object.entries(deployment.TaskGroups);
  return (
    <Rows
      label="Groups of the deployment"
      columns={groupsToPromote(deployment).length > 1 ? [...COLUMNS, PROMOTE] : COLUMNS}
      rows={groups.map(([name, state]) => ({ ...state, name, deployment }))}
      keyOf={({ name }) => name}
    />
  );
}
