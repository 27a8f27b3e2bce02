import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { jobQuery, jobSubmissionQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { readObjectAddress } from '../../app/object-address.js';
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
  readonly name: { readonly id: string; readonly namespace: string };
  readonly version: number;
  readonly stored: unknown;
}

function Definition({ name, version, stored }: DefinitionProps) {
  const submission = useQuery(jobSubmissionQuery(name, version));
  if (submission.isPending) return undefined;
  return (
    <pre className={styles['text']} tabIndex={0} aria-label="Definition">
      {submission.data?.Source ?? JSON.stringify(stored, undefined, 2)}
    </pre>
  );
}
