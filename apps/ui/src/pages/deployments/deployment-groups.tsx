import type { Deployment, DeploymentState } from '../../api/contract.js';
import { TimeAgo } from '../../components/clock.js';
import { type Column, Rows } from '../../components/rows.js';
import { isActive } from './rollout.js';

type GroupRow = DeploymentState & { readonly name: string; readonly isActive: boolean };

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
    cell: ({ RequireProgressBy, isActive: active }) => (active ? <TimeAgo time={RequireProgressBy} /> : '—'),
  },
];

export const DeploymentGroups = ({ deployment }: { readonly deployment: Deployment }) => (
  <Rows
    label="Groups of the deployment"
    columns={COLUMNS}
    rows={Object.entries(deployment.TaskGroups).map(([name, state]) => ({
      ...state,
      name,
      isActive: isActive(deployment),
    }))}
    keyOf={({ name }) => name}
  />
);
