import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { AllocListStub, Evaluation, Job, JobScaleStatusResponse } from '../../api/contract.js';
import {
  jobAllocationsQuery,
  jobEvaluationsQuery,
  type JobName,
  jobQuery,
  jobScaleQuery,
  jobSummaryQuery,
} from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { counted } from '../../words/sizes.js';
import { readJobAddress } from './job-address.js';
import { stateOfJob } from './job-list-filter.js';
import styles from './job-page.module.css';
import { placementProblems } from './job-problems.js';

const route = getRouteApi('/jobs/$job');

/** One job: what should run, what runs, and what is in the way. */
export function JobPage() {
  const name = readJobAddress(route.useParams().job);
  return <Answer of={useQuery(jobQuery(name))}>{(job) => <JobOverview name={name} job={job} />}</Answer>;
}

interface OfJob {
  readonly name: JobName;
  readonly job: Job;
}

function JobOverview({ name, job }: OfJob) {
  const summary = useQuery(jobSummaryQuery(name));
  return (
    <>
      <PageHead
        title={job.Name}
        above={<Link to="/jobs">Jobs</Link>}
        state={<StateOf state={stateOfJob(job, summary.data)} />}
        about={job.StatusDescription === '' ? undefined : job.StatusDescription}
      />
      <Problems name={name} job={job} />
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
          }}
        />
      </Card>
      <Groups name={name} job={job} />
      <Allocations name={name} />
      <Evaluations name={name} />
    </>
  );
}

function Problems({ name, job }: OfJob) {
  const { data = [] } = useQuery(jobEvaluationsQuery(name));
  return placementProblems(data, job).map(({ group, unplaced, reasons, evaluation }) => (
    <div key={group} className={styles['problem']} role="status">
      <h2>
        {counted(unplaced, 'allocation')} of group “{group}” {unplaced === 1 ? 'has' : 'have'} no place
      </h2>
      <ul>
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
      <p>
        It is tried again when a machine changes. Evaluation <code>{evaluation.slice(0, 8)}</code>
      </p>
    </div>
  ));
}

interface GroupRow {
  readonly name: string;
  readonly tasks: string;
  readonly now: JobScaleStatusResponse['TaskGroups'][string] | undefined;
  readonly wanted: number;
}

const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  { title: 'Group', px: 80, share: 2, cell: ({ name }) => name },
  { title: 'Tasks', extra: true, px: 160, share: 3, cell: ({ tasks }) => tasks },
  { title: 'Wanted', px: 60, align: 'right', cell: ({ wanted }) => wanted },
  { title: 'Placed', extra: true, px: 80, align: 'right', cell: ({ now }) => now?.Placed ?? '—' },
  { title: 'Running', px: 60, align: 'right', cell: ({ now }) => now?.Running ?? '—' },
  { title: 'Healthy', px: 60, align: 'right', cell: ({ now }) => now?.Healthy ?? '—' },
];

function Groups({ name, job }: OfJob) {
  const scale = useQuery(jobScaleQuery(name));
  const rows = job.TaskGroups.map((group) => ({
    name: group.Name,
    tasks: (group.Tasks ?? []).map((task) => `${task.Name} (${task.Driver})`).join(', '),
    now: scale.data?.TaskGroups[group.Name],
    wanted: job.Stop ? 0 : group.Count,
  }));
  return (
    <Section title="Groups">
      <Rows label="Groups" columns={GROUP_COLUMNS} rows={rows} keyOf={(row) => row.name} />
    </Section>
  );
}

const ALLOCATION_COLUMNS: readonly Column<AllocListStub>[] = [
  { title: 'Allocation', px: 100, cell: (alloc) => <code title={alloc.ID}>{alloc.ID.slice(0, 8)}</code> },
  { title: 'Name', extra: true, px: 160, share: 2, cell: (alloc) => alloc.Name },
  { title: 'State', px: 104, cell: (alloc) => <StateOf state={alloc.ClientStatus} /> },
  { title: 'Wanted', extra: true, px: 70, cell: (alloc) => alloc.DesiredStatus },
  { title: 'Version', extra: true, px: 64, align: 'right', cell: (alloc) => alloc.JobVersion },
  { title: 'Machine', px: 90, share: 1, cell: (alloc) => alloc.NodeName },
  { title: 'Changed', extra: true, px: 96, align: 'right', cell: (alloc) => <TimeAgo time={alloc.ModifyTime} /> },
];

function Allocations({ name }: { readonly name: JobName }) {
  const allocations = useQuery(jobAllocationsQuery(name));
  return (
    <Section title="Allocations" note={allocations.data && counted(allocations.data.length, 'allocation')}>
      <Answer of={allocations}>
        {(rows) =>
          rows.length === 0 ? (
            <Card>
              <Empty title="Nothing was placed yet" />
            </Card>
          ) : (
            <Rows
              label="Allocations"
              columns={ALLOCATION_COLUMNS}
              rows={rows.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
              keyOf={(alloc) => alloc.ID}
            />
          )
        }
      </Answer>
    </Section>
  );
}

const EVALUATION_COLUMNS: readonly Column<Evaluation>[] = [
  { title: 'Evaluation', px: 100, cell: (one) => <code title={one.ID}>{one.ID.slice(0, 8)}</code> },
  { title: 'Because of', px: 110, share: 2, cell: (one) => one.TriggeredBy },
  { title: 'State', px: 104, cell: (one) => <StateOf state={one.Status} /> },
  { title: 'What came of it', extra: true, px: 180, share: 3, cell: (one) => one.StatusDescription ?? '' },
  { title: 'Made', extra: true, px: 96, align: 'right', cell: (one) => <TimeAgo time={one.CreateTime} /> },
];

function Evaluations({ name }: { readonly name: JobName }) {
  const evaluations = useQuery(jobEvaluationsQuery(name));
  return (
    <Section title="Evaluations" note={evaluations.data && counted(evaluations.data.length, 'evaluation')}>
      <Answer of={evaluations}>
        {(rows) => (
          <Rows
            label="Evaluations"
            columns={EVALUATION_COLUMNS}
            rows={rows.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
            keyOf={(one) => one.ID}
          />
        )}
      </Answer>
    </Section>
  );
}
