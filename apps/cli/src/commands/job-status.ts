import type { AllocListStub, Deployment, Job, JobListStub, JobSummary } from '@waybill/model';
import { allocationTable, ofJob } from '../allocations/allocation-table.js';
import type { Answer, ApiClient } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { deployedTable } from '../deployments/deployment-block.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { type EvaluationAnswer, evaluationTable } from '../evaluations/evaluation-table.js';
import { type ExactJson } from '../terminal/exact-json.js';
import { someAtOnce } from '../server/some-at-once.js';
import { causeOf, failed, isInterrupt } from '../failure.js';
import {
  actionRows,
  blockedPlacements,
  childrenTable,
  jobSummaryTable,
  upcomingReschedules,
} from '../jobs/job-sections.js';
import { jobTable } from '../jobs/job-table.js';
import { multiregionTable } from '../jobs/multiregion-table.js';
import { nextLaunch } from '../jobs/periodic-launch.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';
import { shortId } from '../terminal/short-id.js';
import { keyValues, table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';
import { jobPage, UI_FLAG, webHint } from '../server/web-hint.js';

export const command: ServerCommand = {
  usage: '[<job>]',
  description:
    'Lists all jobs, or shows one with its groups, its latest deployment and its allocations.\n\nNeeds the ' +
    'capability read-job.',
  flags: [
    { name: 'short', kind: 'switch', help: 'Show only the properties of the job.' },
    { name: 'evals', kind: 'switch', help: "Show the job's evaluations too." },
    { name: 'all-allocs', kind: 'switch', help: 'Include allocations of earlier jobs with this ID.' },
    ...DATA_FLAGS,
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <job>' },
  run: (call) => (call.args.length === 0 ? listJobs(call) : showJob(call)),
};

/** Lists all jobs with their type and status (CL-311). */
async function listJobs(call: Call): Promise<number> {
  const { api, terminal } = call;
  const jobs = (await reading('querying jobs', api.get<JobListStub[] | null>('/v1/jobs'))).value ?? [];
  if (call.data) {
    const parts = await someAtOnce(jobs, async (job) => exactParts(await readJob(call, job.ID, job.Namespace)));
    call.data(parts);
  } else if (jobs.length === 0) terminal.print('No running jobs');
  else terminal.print(jobTable(jobs, { withNamespace: api.connection.namespace === '*' }));
  await webHint(call, 'View and manage jobs', '/jobs');
  return 0;
}

async function showJob(call: Call): Promise<number> {
  const { terminal, flags } = call;
  const found = await resolveJob(call.api, call.args[0] ?? '');
  const api = call.api.within({ namespace: found.namespace });
  if (call.data) {
    call.data([exactParts(await readJob(call, found.id, found.namespace))]);
    return 0;
  }
  const { value: job } = await reading('querying job', api.get<Job>(jobPath(found.id)));
  terminal.print(jobList(job, await launchOf(call, job)));
  if (!flags.on('short')) await showParts(call, api, job);
  await webHint(call, 'View this job', jobPage(found.id, job.Namespace));
  return 0;
}

async function showParts(call: Call, api: ApiClient, job: Job): Promise<void> {
  const parts = await readJob(call, job.ID, job.Namespace);
  if (job.Periodic) await showPeriodic(call, api, job, parts);
  else if (isTemplate(job)) await showParameterised(call, api, job, parts);
  else await showRunning(call, api, job, parts);
}

interface JobParts {
  readonly summary: Answer<JobSummary>;
  readonly allocations: Answer<AllocListStub[] | null>;
  readonly deployment: Answer<Deployment | null>;
  readonly evaluations: Answer<EvaluationAnswer[] | null>;
}

async function readJob({ api, flags }: Call, id: string, namespace: string | undefined): Promise<JobParts> {
  const there = api.within({ namespace });
  const [summary, allocations, deployment, evaluations] = await Promise.all([
    reading('querying job summary', there.get<JobSummary>(jobPath(id, '/summary'))),
    reading(
      'querying job allocations',
      there.get<AllocListStub[] | null>(jobPath(id, '/allocations'), { all: flags.on('all-allocs') }),
    ),
    reading('querying latest job deployment', there.get<Deployment | null>(jobPath(id, '/deployment'))),
    reading('querying job evaluations', there.get<EvaluationAnswer[] | null>(jobPath(id, '/evaluations'))),
  ]);
  return { summary, allocations, deployment, evaluations };
}

/** Returns the four API responses for a job unchanged, for `-json` and `-t` (CL-319). */
const exactParts = (parts: JobParts): ExactJson => ({
  Summary: parts.summary.exact,
  Allocations: parts.allocations.exact,
  LatestDeployment: parts.deployment.exact,
  Evaluations: parts.evaluations.exact,
});

/** Whether the job is a template. A dispatched job still has the block of its template, but is an ordinary job. */
const isTemplate = (job: Job): boolean => Boolean(job.ParameterizedJob) && !job.Dispatched;

/** Lists the properties of a job, with its next launch if it is periodic (CL-312, part 1). */
function jobList(job: Job, launch: string | undefined): string {
  const token = job.DispatchIdempotencyToken;
  return keyValues([
    ['ID', job.ID],
    ['Name', job.Name],
    ['Submit Date', absoluteTime(job.SubmitTime)],
    ['Type', job.Type],
    ['Priority', String(job.Priority)],
    ['Datacenters', (job.Datacenters ?? []).join(',')],
    ['Namespace', job.Namespace],
    ['Node Pool', job.NodePool],
    ['Status', `${job.Status}${job.Stop ? ' (stopped)' : ''}`],
    ['Periodic', String(Boolean(job.Periodic))],
    ['Parameterized', String(isTemplate(job))],
    ...(token ? [['Idempotency Token', token] as const] : []),
    ...(launch === undefined ? [] : [['Next Periodic Launch', launch] as const]),
  ]);
}

/** Returns the next launch of a periodic job that is not a template (CL-312). */
async function launchOf({ clock, terminal }: Call, job: Job): Promise<string | undefined> {
  if (!job.Periodic || isTemplate(job)) return undefined;
  if (job.Stop) return 'none (job stopped)';
  if (!job.Periodic.Enabled) return 'none (launches disabled)';
  try {
    return (await nextLaunch(job.Periodic, clock.nowMs())) ?? 'none';
  } catch (error) {
    terminal.warn(causeOf(error));
    return '';
  }
}

/**
 * Prints the sections of a job that is neither periodic nor parameterised, in the order of the contract (CL-313 to
 * CL-317).
 */
async function showRunning(call: Call, api: ApiClient, job: Job, parts: JobParts): Promise<void> {
  const { terminal, flags } = call;
  const display = Display.of(call);
  const evaluations = parts.evaluations.value ?? [];
  const allocations = parts.allocations.value ?? [];
  const section = (title: string, text: string) => {
    terminal.section(title);
    terminal.print(text);
  };
  section('Summary', jobSummaryTable(parts.summary.value));
  const { Pending = 0, Running = 0, Dead = 0 } = parts.summary.value.Children ?? {};
  if (Pending + Running + Dead > 0) section('Children Job Summary', childrenTable(parts.summary.value));
  if ((flags.on('evals') || display.verbose) && evaluations.length > 0)
    section('Evaluations', evaluationTable(evaluations, display));
  const blocked = await blockedPlacements({ ...call, api }, job, evaluations);
  if (blocked !== undefined) section('Placement Failure', blocked);
  const upcoming = await upcomingReschedules(api, allocations, display);
  if (upcoming.length > 0)
    section('Future Rescheduling Attempts', table([['Task Group', 'Eval ID', 'Eval Time'], ...upcoming]));
  const deployment = parts.deployment.value;
  if (deployment) {
    section('Latest Deployment', deploymentList(deployment, display));
    if (deployment.IsMultiregion) await showRegions(call, api, deployment);
    if (Object.keys(deployment.TaskGroups ?? {}).length > 0) section('Deployed', deployedTable(deployment));
  }
  const actions = actionRows(job);
  if (actions.length > 0) section('Actions', table([['Action Name', 'Task Group', 'Task'], ...actions]));
  section('Allocations', allocationTable(ofJob(allocations, job), display));
}

/**
 * Prints the rollout in other regions with short IDs (CL-317, part 7). If it cannot be read, the reason is not shown.
 */
async function showRegions({ terminal }: Call, api: ApiClient, deployment: Deployment): Promise<void> {
  try {
    const regions = await multiregionTable(api, deployment, shortId);
    terminal.section('Multiregion Deployment');
    terminal.print(regions);
  } catch (error) {
    if (isInterrupt(error)) throw error;
    terminal.print('Error fetching Multiregion deployments');
  }
}

const deploymentList = (deployment: Deployment, display: Display): string =>
  keyValues([
    ['ID', display.id(deployment.ID)],
    ['Status', deployment.Status],
    ['Description', deployment.StatusDescription],
  ]);

/** Prints the children of a periodic job (CL-318). */
async function showPeriodic({ terminal }: Call, api: ApiClient, job: Job, parts: JobParts): Promise<void> {
  terminal.section('Children Job Summary');
  terminal.print(childrenTable(parts.summary.value));
  const children = await childrenOf(api, job);
  if (children.length === 0) {
    terminal.print('\nNo instances of periodic job found');
    return;
  }
  terminal.section('Previously Launched Jobs');
  terminal.print(childTable(children));
}

/** Prints the parameters and the dispatched children of a parameterised job (CL-318). */
async function showParameterised({ terminal }: Call, api: ApiClient, job: Job, parts: JobParts): Promise<void> {
  const { Payload = '', MetaRequired, MetaOptional } = job.ParameterizedJob ?? {};
  terminal.section('Parameterized Job');
  terminal.print(
    keyValues([
      ['Payload', Payload],
      ['Required Metadata', (MetaRequired ?? []).join(', ')],
      ['Optional Metadata', (MetaOptional ?? []).join(', ')],
    ]),
  );
  terminal.section('Parameterized Job Summary');
  terminal.print(childrenTable(parts.summary.value));
  const children = await childrenOf(api, job);
  if (children.length === 0) {
    terminal.print('\nNo dispatched instances of parameterized job found');
    return;
  }
  terminal.section('Dispatched Jobs');
  terminal.print(childTable(children));
}

const childTable = (children: readonly JobListStub[]): string =>
  table([['ID', 'Status'], ...children.map((child) => [child.ID, child.Status])]);

/** Returns the children of exactly this job, not those of a job with a longer ID. */
async function childrenOf(api: ApiClient, job: Job): Promise<JobListStub[]> {
  const { value } = await reading('querying jobs', api.get<JobListStub[] | null>('/v1/jobs', { prefix: `${job.ID}/` }));
  return (value ?? []).filter((child) => child.ParentID === job.ID);
}

/** @throws CommandFailure */
const reading = <T>(doing: string, answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw failed(doing, error);
  });
