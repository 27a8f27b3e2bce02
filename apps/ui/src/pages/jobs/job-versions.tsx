import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { revertJob } from '../../api/changes.js';
import type { Job, JobDiff } from '../../api/contract.js';
import { jobQuery, jobVersionsQuery } from '../../api/queries.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Status } from '../../components/status.js';
import { readJobAddress } from './job-address.js';
import styles from './job-versions.module.css';
import { type ChangedValue, changesOf } from './version-diff.js';

const route = getRouteApi('/jobs/$job/versions');

/** The versions of a job that are kept, each with what it changed. */
export function JobVersionsPage() {
  const name = readJobAddress(route.useParams().job);
  const { data: current } = useQuery(jobQuery(name));
  return (
    <Answer of={useQuery(jobVersionsQuery(name))}>
      {({ Versions, Diffs }) =>
        Versions.map((job, at) => (
          <Version key={job.Version} job={job} diff={Diffs?.[at]} isCurrent={job.Version === current?.Version} />
        ))
      }
    </Answer>
  );
}

interface VersionProps {
  readonly job: Job;
  readonly diff: JobDiff | undefined;
  readonly isCurrent: boolean;
}

function Version({ job, diff, isCurrent }: VersionProps) {
  const { ID: id, Namespace: namespace, Version: version } = job;
  return (
    <article className={styles['version']}>
      <div className={styles['head']}>
        <h2>Version {version}</h2>
        {isCurrent && <Status tone="busy">current</Status>}
        {job.Stable && <Status tone="good">stable</Status>}
        <span className={styles['when']}>
          <TimeAgo time={job.SubmitTime} />
        </span>
        {!isCurrent && (
          <span className={styles['change']}>
            <Action
              label="Go back to this"
              title={`Run version ${version} of ${id} again?`}
              text="It becomes the newest version, and is rolled out as the job's update block says."
              run={() => revertJob({ id, namespace }, version)}
            />
          </span>
        )}
      </div>
      {diff && <Diff changes={changesOf(diff)} />}
    </article>
  );
}

const Diff = ({ changes }: { readonly changes: readonly ChangedValue[] }) => (
  <ul className={styles['diff']}>
    {changes.length === 0 && <li className={styles['none']}>Nothing but bookkeeping changed.</li>}
    {changes.map(({ path, kind, before, after }) => (
      <li key={path.join('\u0000')}>
        <span className={styles['path']}>{path.join(' › ')}</span>{' '}
        {kind === 'changed' ? (
          <>
            <del className={styles['before']}>{before === '' ? 'empty' : before}</del> →{' '}
            <ins className={styles['after']}>{after === '' ? 'empty' : after}</ins>
          </>
        ) : kind === 'added' ? (
          <ins className={styles['after']}>added{after === '' ? '' : `: ${after}`}</ins>
        ) : (
          <del className={styles['before']}>removed{before === '' ? '' : `: ${before}`}</del>
        )}
      </li>
    ))}
  </ul>
);
