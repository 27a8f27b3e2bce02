import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Outlet } from '@tanstack/react-router';
import type { Job } from '../../api/contract.js';
import { jobQuery, jobSummaryQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { PageHead } from '../../components/page.js';
import { StateOf } from '../../components/status.js';
import { Tabs } from '../../components/tabs.js';
import { JobActions } from './job-actions.js';
import { objectAddress, type ObjectName, readObjectAddress } from '../../app/object-address.js';
import { stateOfJob } from './job-list-filter.js';

const route = getRouteApi('/jobs/$job');

/** The frame of a job's pages: its name and state, what can be done with it, and the way between its pages. */
export function JobPage() {
  const name = readObjectAddress(route.useParams().job);
  return <Answer of={useQuery(jobQuery(name))}>{(job) => <JobFrame name={name} job={job} />}</Answer>;
}

function JobFrame({ name, job }: { readonly name: ObjectName; readonly job: Job }) {
  const summary = useQuery(jobSummaryQuery(name));
  const params = { job: objectAddress(name) };
  return (
    <>
      <PageHead
        title={job.Name}
        above={<Above job={job} />}
        state={<StateOf state={stateOfJob(job, summary.data)} />}
        about={job.StatusDescription === '' ? undefined : job.StatusDescription}
      >
        <JobActions name={name} job={job} />
      </PageHead>
      <Tabs label="Parts of the job">
        <Link to="/jobs/$job" params={params} activeOptions={{ exact: true, includeSearch: false }}>
          Overview
        </Link>
        <Link to="/jobs/$job/versions" params={params}>
          Versions
        </Link>
        <Link to="/jobs/$job/deployments" params={params}>
          Deployments
        </Link>
        <Link to="/jobs/$job/evaluations" params={params}>
          Evaluations
        </Link>
        <Link to="/jobs/$job/definition" params={params}>
          Definition
        </Link>
        <Link to="/history/$kind/$object" params={{ kind: 'job', object: objectAddress(name) }}>
          History
        </Link>
      </Tabs>
      <Outlet />
    </>
  );
}

const Above = ({ job: { ParentID, Namespace } }: { readonly job: Job }) => (
  <>
    <Link to="/jobs">Jobs</Link>
    {ParentID !== '' && (
      <>
        {' / '}
        <Link to="/jobs/$job" params={{ job: objectAddress({ id: ParentID, namespace: Namespace }) }}>
          {ParentID}
        </Link>
      </>
    )}
  </>
);
