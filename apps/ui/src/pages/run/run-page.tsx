import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { jobQuery, jobSubmissionQuery } from '../../api/queries.js';
import { objectAddress, type ObjectName, readObjectAddress } from '../../app/object-address.js';
import { Answer } from '../../components/answer.js';
import { Empty, PageHead, Waiting } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { JobEditor } from './job-editor.js';
import { NO_TEXT, textOfSubmission } from './job-text.js';
import { EXAMPLE } from './run-example.js';

const route = getRouteApi('/jobs/run');

/** A job file, what registering it would do, and then its registration: nothing runs that was not shown before. */
export function RunPage() {
  const { example, job } = route.useSearch();
  if (job !== undefined) return <Changed key={job} name={readObjectAddress(job)} />;
  return (
    <>
      <PageHead
        title="Run a job"
        above={<Link to="/jobs">Jobs</Link>}
        about="Write or paste a job file in HCL. The plan shows what would change; nothing runs before."
      />
      <JobEditor first={example === undefined ? NO_TEXT : { source: EXAMPLE, variables: '' }} />
    </>
  );
}

/** The file of a job that is there already. */
function Changed({ name }: { readonly name: ObjectName }) {
  return (
    <>
      <PageHead
        title={`Change ${name.id}`}
        above={
          <>
            <Link to="/jobs">Jobs</Link> /{' '}
            <Link to="/jobs/$job" params={{ job: objectAddress(name) }}>
              {name.id}
            </Link>
          </>
        }
        about="The file of the newest version. The plan shows what would change; nothing changes before."
      />
      <Answer of={useQuery(jobQuery(name))}>{({ Version }) => <Submitted name={name} version={Version} />}</Answer>
    </>
  );
}

/** Reads the file once: what the reader writes stays when the job changes meanwhile, and a notice says so. */
function Submitted({ name, version }: { readonly name: ObjectName; readonly version: number }) {
  const [begun] = useState(version);
  const submission = useQuery(jobSubmissionQuery(name, begun));
  if (submission.isPending) return <Waiting />;
  const text = submission.data && textOfSubmission(submission.data);
  if (text === undefined) return <NoFile />;
  return (
    <>
      {version !== begun && (
        <Problem
          title={`The job has changed to version ${version}`}
          reasons={[`You edit the file of version ${begun}. The plan compares yours with the newest version.`]}
        />
      )}
      <JobEditor first={text} />
    </>
  );
}

const NoFile = () => (
  <Empty title="No job file is stored">
    <p>The newest version of this job was not sent as a file in HCL. Paste one on the page Run a job.</p>
  </Empty>
);
