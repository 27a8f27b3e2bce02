import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { JobListStub } from '../../api/contract.js';
import { jobsQuery, namespacesQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import buttons from '../../components/buttons.module.css';
import { Answer } from '../../components/answer.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { Empty, PageHead } from '../../components/page.js';
import { Rows } from '../../components/rows.js';
import { counted } from '../../words/sizes.js';
import { JOB_COLUMNS } from './job-columns.js';
import { filteredJobs, JOB_STATES, JOB_TYPES, type JobFilter } from './job-list-filter.js';

const route = getRouteApi('/jobs');

/** All jobs, or those that the address asks for. */
export function JobsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const jobs = useQuery(jobsQuery(filter.namespace ?? '*'));
  const namespaces = useQuery(namespacesQuery());
  const mayRun = useMay({ route: 'runJob' });
  const choose = (change: JobFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <>
      <PageHead title="Jobs">
        {mayRun === true && (
          <Link to="/jobs/run" className={buttons['button']}>
            Run a job
          </Link>
        )}
      </PageHead>
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
  return <Rows label="Jobs" columns={JOB_COLUMNS} rows={rows} keyOf={(job) => `${job.Namespace ?? ''}/${job.ID}`} />;
}

function NoJobs() {
  const mayRun = useMay({ route: 'runJob' });
  return (
    <Empty title="No jobs yet">
      <p>
        A job says what to run and how many of it.{' '}
        {mayRun === true && (
          <>
            <Link to="/jobs/run" search={{ example: 'hello' }}>
              Run an example
            </Link>{' '}
            and see it start, or write your own.
          </>
        )}
        {mayRun === false && 'Your token may not run jobs.'}
      </p>
    </Empty>
  );
}
