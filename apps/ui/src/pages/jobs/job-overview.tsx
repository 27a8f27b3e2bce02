import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { getRouteApi } from '@tanstack/react-router';
import type { Job } from '../../api/contract.js';
import {
  jobAllocationsQuery,
  jobDeploymentsQuery,
  jobEvaluationsQuery,
  jobQuery,
  jobsQuery,
} from '../../api/queries.js';
import { AllocationRows } from '../../components/allocation-rows.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { DeploymentLink, EvaluationLink } from '../../components/object-links.js';
import { Card, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { counted } from '../../words/sizes.js';
import { DeploymentActions } from '../deployments/deployment-actions.js';
import { DeploymentGroups } from '../deployments/deployment-groups.js';
import { isActive } from '../deployments/rollout.js';
import { type ObjectName, readObjectAddress } from '../../app/object-address.js';
import { JOB_COLUMNS } from './job-columns.js';
import { groupCounts, type GroupCounts } from './job-counts.js';
import styles from './job-overview.module.css';
import { placementProblems } from './job-problems.js';

const route = getRouteApi('/jobs/$job/');

/** What a job should run, what runs, and what is in the way. */
export function JobOverviewPage() {
  const name = readObjectAddress(route.useParams().job);
  return <Answer of={useQuery(jobQuery(name))}>{(job) => <JobOverview name={name} job={job} />}</Answer>;
}

interface OfJob {
  readonly name: ObjectName;
  readonly job: Job;
}

function JobOverview({ name, job }: OfJob) {
  const hasChildren = job.ParameterizedJob !== null || job.Periodic !== null;
  return (
    <>
      <Problems name={name} job={job} />
      <Rollout name={name} />
      <Card>
        <Facts
          of={{
            Kind: job.Type,
            Namespace: job.Namespace,
            Version: job.Version,
            Priority: job.Priority,
            'Node pool': job.NodePool,
            Datacenters: job.Datacenters.join(', '),
            Submitted: <TimeAgo time={job.SubmitTime} />,
            ID: job.ID === job.Name ? undefined : job.ID,
            ...job.Meta,
          }}
        />
      </Card>
      <Groups name={name} job={job} />
      {hasChildren ? <Children name={name} /> : <Allocations name={name} />}
    </>
  );
}

function Problems({ name, job }: OfJob) {
  const { data = [] } = useQuery(jobEvaluationsQuery(name));
  return placementProblems(data, job).map(({ group, unplaced, reasons, evaluation }) => (
    <Problem
      key={group}
      title={`${counted(unplaced, 'allocation')} of group “${group}” ${unplaced === 1 ? 'has' : 'have'} no place`}
      reasons={reasons}
    >
      It is tried again when a machine changes. Evaluation <EvaluationLink id={evaluation} />
    </Problem>
  ));
}

/** The rollout that is under way, if there is one. */
function Rollout({ name }: { readonly name: ObjectName }) {
  const { data = [] } = useQuery(jobDeploymentsQuery(name));
  const active = data.find(isActive);
  if (!active) return undefined;
  return (
    <div className={styles['rollout']}>
      <div className={styles['rolloutHead']}>
        <h2>
          Rolling out version {active.JobVersion} <DeploymentLink id={active.ID} />
        </h2>
        <StateOf state={active.Status} />
        <span className={styles['about']}>{active.StatusDescription}</span>
        <DeploymentActions deployment={active} />
      </div>
      <DeploymentGroups deployment={active} />
    </div>
  );
}

interface GroupRow {
  readonly name: string;
  readonly tasks: string;
  readonly now: GroupCounts | undefined;
  readonly wanted: number;
}

const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  { title: 'Group', px: 80, share: 2, cell: ({ name }) => name },
  { title: 'Tasks', extra: true, px: 160, share: 3, cell: ({ tasks }) => <span title={tasks}>{tasks}</span> },
  { title: 'Desired', px: 60, align: 'right', cell: ({ wanted }) => wanted },
  { title: 'Placed', extra: true, px: 60, align: 'right', cell: ({ now }) => now?.placed ?? '—' },
  { title: 'Running', px: 60, align: 'right', cell: ({ now }) => now?.running ?? '—' },
  { title: 'Healthy', px: 60, align: 'right', cell: ({ now }) => now?.healthy ?? '—' },
];

const NONE: GroupCounts = { placed: 0, running: 0, healthy: 0 };

function Groups({ name, job }: OfJob) {
  const { data } = useQuery(jobAllocationsQuery(name));
  const counts = useMemo(() => data && groupCounts(data), [data]);
  const rows = job.TaskGroups.map((group) => ({
    name: group.Name,
    tasks: (group.Tasks ?? []).map((task) => `${task.Name} (${task.Driver})`).join(', '),
    now: counts && (counts.get(group.Name) ?? NONE),
    wanted: job.Stop ? 0 : group.Count,
  }));
  return (
    <Section title="Groups">
      <Rows label="Groups" columns={GROUP_COLUMNS} rows={rows} keyOf={(row) => row.name} />
    </Section>
  );
}

function Allocations({ name }: { readonly name: ObjectName }) {
  const allocations = useQuery(jobAllocationsQuery(name));
  return (
    <Section title="Allocations" note={allocations.data && counted(allocations.data.length, 'allocation')}>
      <Answer of={allocations}>{(rows) => <AllocationRows of="job" rows={rows} />}</Answer>
    </Section>
  );
}

/** The runs of a job that runs on demand or by a clock. */
function Children({ name }: { readonly name: ObjectName }) {
  const jobs = useQuery(jobsQuery(name.namespace));
  return (
    <Section title="Runs">
      <Answer of={jobs}>
        {(all) => (
          <Rows
            label="Runs"
            columns={JOB_COLUMNS}
            rows={all.filter(({ ParentID }) => ParentID === name.id).toSorted((a, b) => b.SubmitTime - a.SubmitTime)}
            keyOf={({ ID }) => ID}
          />
        )}
      </Answer>
    </Section>
  );
}
