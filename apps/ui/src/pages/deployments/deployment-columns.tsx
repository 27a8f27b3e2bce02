import type { Deployment } from '../../api/contract.js';
import { TimeAgo } from '../../components/clock.js';
import { DeploymentLink, JobLink } from '../../components/object-links.js';
import type { Column } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { progressOf } from './rollout.js';

const ID: Column<Deployment> = { title: 'Deployment', px: 92, cell: (one) => <DeploymentLink id={one.ID} /> };
const JOB: Column<Deployment> = {
  title: 'Job',
  px: 100,
  share: 2,
  cell: (one) => <JobLink id={one.JobID} namespace={one.Namespace} />,
};
const REST: readonly Column<Deployment>[] = [
  { title: 'Version', extra: true, px: 62, align: 'right', cell: (one) => one.JobVersion },
  { title: 'State', px: 104, cell: (one) => <StateOf state={one.Status} /> },
  { title: 'Healthy', extra: true, px: 84, align: 'right', cell: progress },
  {
    title: 'About',
    extra: true,
    px: 160,
    share: 3,
    cell: (one) => <span title={one.StatusDescription}>{one.StatusDescription}</span>,
  },
  { title: 'Began', extra: true, px: 90, align: 'right', cell: (one) => <TimeAgo time={one.CreateTime} /> },
];

function progress(deployment: Deployment): string {
  const { healthy, wanted } = progressOf(deployment);
  return `${healthy} of ${wanted}`;
}

export const DEPLOYMENT_COLUMNS: readonly Column<Deployment>[] = [ID, JOB, ...REST];
export const DEPLOYMENT_COLUMNS_OF_JOB: readonly Column<Deployment>[] = [ID, ...REST];
