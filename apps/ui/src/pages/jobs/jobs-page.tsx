import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { JobListStub } from '../../api/contract.js';
import { jobsQuery, namespacesQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Counts } from '../../components/counts.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { Empty, PageHead } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { counted } from '../../words/sizes.js';
import { jobAddress } from './job-address.js';
import { countsOf } from './job-counts.js';
import { filteredJobs, JOB_STATES, JOB_TYPES, type JobFilter, kindOfJob, stateOfJob } from './job-list-filter.js';

const route = getRouteApi('/jobs');

const COLUMNS: readonly Column<JobListStub>[] = [
  {
    title: 'Job',
    px: 130,
    share: 3,
    cell: (job) => (
      <Link to="/jobs/$job" params={{ job: jobAddress({ id: job.ID, namespace: job.Namespace ?? 'default' }) }}>
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

/** All jobs, or those that the address asks for. */
export function JobsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const jobs = useQuery(jobsQuery(filter.namespace ?? '*'));
  const namespaces = useQuery(namespacesQuery());
  const choose = (change: JobFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <>
      <PageHead title="Jobs" />
      <Filters>
        <SearchField label="Search by name" value={filter.search} onChange={(search) => choose({ search })} />
        <Choice
          label="State"
          all="All states"
          options={JOB_STATES}
          value={filter.status}
          onChange={(status) => choose({ status })}
        />
        <Choice
          label="Kind"
          all="All kinds"
          options={JOB_TYPES}
          value={filter.type}
          onChange={(type) => choose({ type })}
        />
        <Choice
          label="Namespace"
          all="All namespaces"
          options={(namespaces.data ?? []).map(({ Name }) => Name)}
          value={filter.namespace}
          onChange={(namespace) => choose({ namespace })}
        />
      </Filters>
      <Answer of={jobs}>{(all) => <JobRows all={all} filter={filter} />}</Answer>
    </>
  );
}

function JobRows({ all, filter }: { readonly all: readonly JobListStub[]; readonly filter: JobFilter }) {
  if (all.length === 0) return <NoJobs />;
  const rows = filteredJobs(all, filter);
  if (rows.length === 0)
    return (
      <Empty title="No job matches">
        <p>
          {counted(all.length, 'job')} without the filter. <Link to="/jobs">Show all</Link>
        </p>
      </Empty>
    );
  return <Rows label="Jobs" columns={COLUMNS} rows={rows} keyOf={(job) => `${job.Namespace ?? ''}/${job.ID}`} />;
}

const NoJobs = () => (
  <Empty title="No jobs yet">
    <p>
      A job says what to run and how many of it. Register one with <code>npx waybill job run FILE</code>.
    </p>
  </Empty>
);
