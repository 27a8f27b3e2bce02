import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { jobQuery, jobSubmissionQuery } from '../../api/queries.js';
import { type ObjectName, readObjectAddress } from '../../app/object-address.js';
import { Answer } from '../../components/answer.js';
import { CodeEditor } from '../../components/code/code-editor.js';
import { textOfSubmission } from '../run/job-text.js';
import styles from './job-definition.module.css';

const route = getRouteApi('/jobs/$job/definition');

/** The file that the job was submitted as; the job as it is stored where there was none. */
export function JobDefinitionPage() {
  const name = readObjectAddress(route.useParams().job);
  return (
    <Answer of={useQuery(jobQuery(name))}>
      {(job) => <Definition name={name} version={job.Version} stored={job} />}
    </Answer>
  );
}

interface DefinitionProps {
  readonly name: ObjectName;
  readonly version: number;
  readonly stored: unknown;
}

function Definition({ name, version, stored }: DefinitionProps) {
  const submission = useQuery(jobSubmissionQuery(name, version));
  if (submission.isPending) return undefined;
  const text = submission.data && textOfSubmission(submission.data);
  return (
    <>
      <p className={styles['about']}>
        {text === undefined
          ? `Version ${version} as it is stored. It was not submitted as a file in HCL.`
          : `The file that was submitted for version ${version}.`}
      </p>
      <CodeEditor
        label="Definition"
        value={text?.source ?? submission.data?.Source ?? JSON.stringify(stored, undefined, 2)}
      />
      {text !== undefined && text.variables !== '' && (
        <>
          <h2 className={styles['variables']}>Variables</h2>
          <CodeEditor label="Variables" value={text.variables} />
        </>
      )}
    </>
  );
}
