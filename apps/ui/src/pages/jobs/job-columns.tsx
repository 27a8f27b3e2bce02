import { Link } from '@tanstack/react-router';
import type { JobListStub } from '../../api/contract.js';
import { TimeAgo } from '../../components/clock.js';
import { Counts } from '../../components/counts.js';
import type { Column } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { objectAddress } from '../../app/object-address.js';
import { countsOf } from './job-counts.js';
import { kindOfJob, stateOfJob } from './job-list-filter.js';

export const JOB_COLUMNS: readonly Column<JobListStub>[] = [
  {
    title: 'Job',
    px: 130,
    share: 3,
    cell: (job) => (
      <Link to="/jobs/$job" params={{ job: objectAddress({ id: job.ID, namespace: job.Namespace ?? 'default' }) }}>
        {job.Name === job.ID ? job.ID : `${job.Name} (${job.ID})`}
      </Link>
    ),
  },
  { title: 'State', px: 112, cell: (job) => <StateOf state={stateOfJob(job, job.JobSummary)} /> },
  {
    title: 'Allocations',
    px: 150,
    share: 3,
    cell: (job) => <Counts of={countsOf(job.JobSummary)} none={job.Stop ? 'none, it is stopped' : 'none'} />,
  },
  { title: 'Kind', extra: true, px: 110, cell: kindOfJob },
  { title: 'Namespace', extra: true, px: 90, share: 1, cell: (job) => job.Namespace ?? 'default' },
  { title: 'Submitted', extra: true, px: 100, align: 'right', cell: (job) => <TimeAgo time={job.SubmitTime} /> },
];
