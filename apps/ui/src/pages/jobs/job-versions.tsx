import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { revertJob } from '../../api/changes.js';
import type { Job, JobDiff } from '../../api/contract.js';
import { jobQuery, jobVersionsQuery } from '../../api/queries.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Status } from '../../components/status.js';
import { readObjectAddress } from '../../app/object-address.js';
import styles from './job-versions.module.css';
import { Diff } from './version-changes.js';
import { changesOf } from './version-diff.js';

const route = getRouteApi('/jobs/$job/versions');

/** The versions of a job that are kept, each with what it changed. */
export function JobVersionsPage() {
  const name = readObjectAddress(route.useParams().job);
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
              needs={{ route: 'revertJob', namespace }}
              label="Go back to this"
              title={`Run version ${version} of ${id} again?`}
              text="This version becomes the newest one, and is rolled out as the job's update block says."
              run={() => revertJob({ id, namespace }, version)}
            />
          </span>
        )}
      </div>
      {diff && (
        <div className={styles['diff']}>
          <Diff changes={changesOf(diff)} />
        </div>
      )}
    </article>
  );
}
