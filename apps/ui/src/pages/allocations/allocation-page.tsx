import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { restartAllocation, stopAllocation } from '../../api/changes.js';
import type { Allocation, TaskEvent, TaskState } from '../../api/contract.js';
import { allocationQuery } from '../../api/queries.js';
import { useHas, useMay } from '../../api/rights.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { HistoryLink } from '../../components/history-link.js';
import {
  AllocationLink,
  DeploymentLink,
  EvaluationLink,
  JobLink,
  NodeLink,
  shortId,
} from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { Waterfall } from '../../components/waterfall.js';
import { stepsOfAllocation } from '../../components/waterfall-steps.js';
import { megabytesInWords } from '../../words/sizes.js';
import { AllocationFigures } from './allocation-figures.js';
import { relativesOf } from './lineage.js';
import { TaskLog } from './task-log.js';

const route = getRouteApi('/allocations/$id');

/** One allocation: its tasks, what happened to them, what they write. */
export function AllocationPage() {
  const { id } = route.useParams();
  return <Answer of={useQuery(allocationQuery(id))}>{(alloc) => <AllocationView alloc={alloc} />}</Answer>;
}

function AllocationView({ alloc }: { readonly alloc: Allocation }) {
  const mayList = useMay({ route: 'listFiles', namespace: alloc.Namespace });
  const mayExec = useHas('alloc-exec', alloc.Namespace);
  const isOver = alloc.ClientStatus !== 'running' && alloc.ClientStatus !== 'pending';
  return (
    <>
      <PageHead
        title={alloc.Name ?? alloc.ID}
        above={
          <>
            <Link to="/jobs">Jobs</Link> / <JobLink id={alloc.JobID} namespace={alloc.Namespace} />
          </>
        }
        state={<StateOf state={alloc.ClientStatus} />}
        about={[alloc.ClientDescription, alloc.DesiredDescription].filter(Boolean).join('. ') || undefined}
      >
        {mayList === true && (
          <Link to="/allocations/$id/files" params={{ id: alloc.ID }} className={buttons['button']}>
            Files
          </Link>
        )}
        {!isOver && (
          <>
            {mayExec === true && (
              <Link to="/allocations/$id/terminal" params={{ id: alloc.ID }} className={buttons['button']}>
                Terminal
              </Link>
            )}
            <Action
              needs={{ route: 'restartAllocation', namespace: alloc.Namespace }}
              label="Restart"
              title={`Restart the tasks of ${shortId(alloc.ID)}?`}
              text="Each task is stopped and started again on the same machine. The allocation stays the same."
              run={() => restartAllocation(alloc.ID)}
            />
            <Action
              needs={{ route: 'stopAllocation', namespace: alloc.Namespace }}
              label="Stop"
              tone="danger"
              title={`Stop the allocation ${shortId(alloc.ID)}?`}
              text="The scheduler replaces it with a new one, as long as the job wants as many."
              run={() => stopAllocation(alloc.ID)}
            />
          </>
        )}
      </PageHead>
      <Card>
        <Facts
          of={{
            ID: <code>{alloc.ID}</code>,
            Group: alloc.TaskGroup,
            Machine: <NodeLink id={alloc.NodeID} name={alloc.NodeName} />,
            Desired: alloc.DesiredStatus,
            Version: alloc.Job?.Version,
            Evaluation: <EvaluationLink id={alloc.EvalID} />,
            Deployment: alloc.DeploymentID === undefined ? undefined : <DeploymentLink id={alloc.DeploymentID} />,
            Health: healthOf(alloc),
            Created: <TimeAgo time={alloc.CreateTime} />,
            Address: alloc.NetworkStatus?.Address || undefined,
            History: <HistoryLink kind="alloc" id={alloc.ID} namespace={alloc.Namespace} />,
          }}
        />
      </Card>
      <Relatives alloc={alloc} />
      <Tasks alloc={alloc} />
      {alloc.ClientStatus === 'running' && <AllocationFigures alloc={alloc} />}
      <Logs alloc={alloc} />
      <Events alloc={alloc} />
      {alloc.EvalID !== undefined && (
        <Waterfall
          title="From submission to health"
          evaluations={[alloc.EvalID]}
          choose={(steps) => stepsOfAllocation(steps, alloc.ID)}
        />
      )}
    </>
  );
}

function healthOf({ DeploymentStatus }: Allocation): string | undefined {
  if (!DeploymentStatus) return undefined;
  const health =
    DeploymentStatus.Healthy === null ? 'not known yet' : DeploymentStatus.Healthy ? 'healthy' : 'unhealthy';
  return DeploymentStatus.Canary ? `${health}, a canary` : health;
}

function Relatives({ alloc }: { readonly alloc: Allocation }) {
  const relatives = relativesOf(alloc);
  if (relatives.length === 0) return undefined;
  return (
    <Section title="Before and after">
      <ul>
        {relatives.map(({ id, words }) => (
          <li key={id}>
            {words} <AllocationLink id={id} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface TaskRow {
  readonly name: string;
  readonly namespace: string;
  readonly driver: string;
  readonly state: TaskState | undefined;
  readonly memory: string;
  readonly cpu: string;
  readonly restart: () => Promise<unknown>;
}

const TASK_COLUMNS: readonly Column<TaskRow>[] = [
  { title: 'Task', px: 90, share: 2, cell: ({ name }) => name },
  { title: 'Driver', extra: true, px: 90, share: 1, cell: ({ driver }) => driver },
  { title: 'State', px: 96, cell: ({ state }) => <StateOf state={stateOfTask(state)} /> },
  { title: 'Restarts', extra: true, px: 64, align: 'right', cell: ({ state }) => state?.Restarts ?? 0 },
  { title: 'CPU', extra: true, px: 84, align: 'right', cell: ({ cpu }) => cpu },
  { title: 'Memory', extra: true, px: 84, align: 'right', cell: ({ memory }) => memory },
  { title: 'Started', extra: true, px: 96, align: 'right', cell: ({ state }) => <TimeAgo time={state?.StartedAt} /> },
  {
    title: 'Change',
    px: 84,
    align: 'right',
    cell: ({ name, namespace, state, restart }) =>
      state?.State === 'running' && (
        <Action
          needs={{ route: 'restartAllocation', namespace }}
          label="Restart"
          title={`Restart the task ${name}?`}
          text="It is stopped and started again on the same machine; the other tasks go on."
          run={restart}
        />
      ),
  },
];

const stateOfTask = (state: TaskState | undefined): string =>
  state === undefined ? 'pending' : state.State === 'dead' && state.Failed ? 'failed' : state.State;

function Tasks({ alloc }: { readonly alloc: Allocation }) {
  const rows = tasksOf(alloc).map((name) => {
    const given = alloc.AllocatedResources.Tasks[name];
    return {
      name,
      namespace: alloc.Namespace,
      driver: driverOf(alloc, name),
      state: alloc.TaskStates?.[name],
      cpu: given ? `${given.Cpu.CpuShares} MHz` : '—',
      memory: given ? megabytesInWords(given.Memory.MemoryMB) : '—',
      restart: () => restartAllocation(alloc.ID, name),
    };
  });
  return (
    <Section title="Tasks">
      <Rows label="Tasks" columns={TASK_COLUMNS} rows={rows} keyOf={({ name }) => name} />
    </Section>
  );
}

const groupOf = ({ Job, TaskGroup }: Allocation) => Job?.TaskGroups.find(({ Name }) => Name === TaskGroup);

const driverOf = (alloc: Allocation, task: string): string =>
  groupOf(alloc)?.Tasks?.find(({ Name }) => Name === task)?.Driver ?? '';

/** In the order of the job's file. */
function tasksOf(alloc: Allocation): readonly string[] {
  const written = (groupOf(alloc)?.Tasks ?? []).map(({ Name }) => Name);
  return written.length > 0 ? written : Object.keys(alloc.AllocatedResources.Tasks);
}

function Logs({ alloc }: { readonly alloc: Allocation }) {
  const { task, stream } = route.useSearch();
  const navigate = route.useNavigate();
  const tasks = tasksOf(alloc);
  const chosen = task !== undefined && tasks.includes(task) ? task : (tasks[0] ?? '');
  if (alloc.TaskStates === undefined || chosen === '') return undefined;
  return (
    <Section title="Output">
      <TaskLog
        allocation={alloc.ID}
        tasks={tasks}
        shown={{ task: chosen, type: stream === 'stderr' ? 'stderr' : 'stdout' }}
        choose={({ task: next, type }) => void navigate({ search: { task: next, stream: type }, replace: true })}
      />
    </Section>
  );
}

interface EventRow {
  readonly task: string;
  readonly event: TaskEvent;
  readonly at: number;
}

const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  { title: 'When', px: 90, cell: ({ event }) => <TimeAgo time={event.Time} /> },
  { title: 'Task', extra: true, px: 90, share: 1, cell: ({ task }) => task },
  { title: 'Event', px: 120, share: 1, cell: ({ event }) => event.Type },
  {
    title: 'What happened',
    px: 150,
    share: 4,
    cell: ({ event }) => <span title={event.DisplayMessage}>{event.DisplayMessage || event.Message}</span>,
  },
];

function Events({ alloc }: { readonly alloc: Allocation }) {
  const rows = Object.entries(alloc.TaskStates ?? {})
    .flatMap(([task, { Events: events }]) => (events ?? []).map((event, at) => ({ task, event, at })))
    .toSorted((a, b) => b.event.Time - a.event.Time);
  return (
    <Section title="Task events">
      {rows.length === 0 ? (
        <Card>
          <Empty title="Nothing has happened yet" />
        </Card>
      ) : (
        <Rows label="Task events" columns={EVENT_COLUMNS} rows={rows} keyOf={({ task, at }) => `${task}/${at}`} />
      )}
    </Section>
  );
}
