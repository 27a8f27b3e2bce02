import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { JobSummary } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, Display, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor, PLACEMENT_FAILED } from '../evaluations/evaluation-monitor.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { jobSummaryTable } from '../jobs/job-sections.js';
import { jobPath, PARAMETERIZED, resolveJob } from '../jobs/resolve-job.js';
import { keyValues } from '../terminal/table.js';
import { jobPage, UI_FLAG, webHint } from '../server/web-hint.js';

/** Longest wait for a dispatched job to end, with `-wait` (CL-341). */
const WAIT_LIMIT_MS = 5 * 60_000;
const WAIT_STEP_MS = 1_000;

interface Dispatched {
  readonly DispatchedJobID: string;
  readonly EvalID: string;
}

/** Dispatches a parameterised job, follows the evaluation and, under `-wait`, the dispatched job (CL-340, CL-341). */
export const command: ServerCommand = {
  usage: '<parameterized job> [<file>|-]',
  description:
    'Dispatches a job from a parameterized job, with the file, or stdin ("-"), as its payload, and watches the ' +
    'evaluation.\n\nExit codes with -wait: 0 it ended well; 2 a group failed.\n\nNeeds the capability dispatch-job; ' +
    'to watch, read-job.',
  flags: [
    DETACH_FLAG,
    {
      name: 'id-prefix-template',
      kind: 'text',
      value: 'prefix',
      help: "Prefix for the job's own part of its ID.",
    },
    {
      name: 'idempotency-token',
      kind: 'text',
      value: 'token',
      help: 'Dispatch only if no job was dispatched with this token.',
    },
    { name: 'meta', kind: 'list', value: 'key=value', help: 'Metadata of the dispatched job. May be repeated.' },
    { name: 'priority', kind: 'integer', value: 'n', help: "Its priority instead of the parameterized job's." },
    UI_FLAG,
    VERBOSE_FLAG,
    { name: 'wait', kind: 'switch', help: 'Wait until the dispatched job has ended.' },
  ],
  takes: { min: 1, max: 2, otherwise: 'This command takes one or two argument: <parameterized job> [<input source>]' },
  run,
};

async function run(call: Call): Promise<number> {
  const { args, flags, terminal } = call;
  const Meta = Object.fromEntries(flags.list('meta').map(metaOf));
  const payload = await payloadOf(args[1]);
  const found = await resolveJob(call.api, args[0] ?? '', PARAMETERIZED);
  const api = call.api.within({ namespace: found.namespace });
  const body = {
    JobID: found.id,
    Payload: payload.toString('base64'),
    Meta,
    IdPrefixTemplate: flags.text('id-prefix-template') ?? '',
    Priority: flags.integer('priority') ?? 0,
  };
  const query = { idempotency_token: flags.text('idempotency-token') };
  const { value } = await api.put<Dispatched>(jobPath(found.id, '/dispatch'), body, query).catch((error: unknown) => {
    if (isInterrupt(error)) throw error;
    throw new CommandFailure(`Failed to dispatch job: ${causeOf(error)}`);
  });
  const { DispatchedJobID, EvalID } = value;
  const shown = Display.of(call).id(EvalID);
  terminal.print(
    keyValues([['Dispatched Job ID', DispatchedJobID], ...(EvalID ? [['Evaluation ID', shown] as const] : [])]),
  );
  const page = jobPage(DispatchedJobID, found.namespace ?? api.connection.namespace ?? 'default');
  await webHint(call, 'View this job', page, { beforeMonitor: EvalID !== '' && !flags.on('detach') });
  if (flags.on('detach')) return 0;
  if (EvalID !== '') {
    terminal.print('');
    if ((await new EvaluationMonitor({ ...call, api }).follow(EvalID)) !== 0) return 1;
  }
  return flags.on('wait') ? ended(call, api, DispatchedJobID) : 0;
}

function metaOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new CommandFailure(`Error parsing meta value: ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

async function payloadOf(source: string | undefined): Promise<Buffer> {
  if (source === undefined) return Buffer.alloc(0);
  try {
    return source === '-' ? await buffer(process.stdin) : await readFile(source);
  } catch (error) {
    throw failed('reading input data', error);
  }
}

/**
 * Waits until the dispatched job has ended, and prints its groups after every change (CL-341). Resolves with the exit
 * code.
 */
async function ended(call: Call, api: ApiClient, id: string): Promise<number> {
  const { terminal, clock, sleep } = call;
  const until = clock.nowMs() + WAIT_LIMIT_MS;
  for (let last = ''; ;) {
    const [job, { value: summary }] = await Promise.all([
      api.get<{ readonly Status: string }>(jobPath(id)),
      api.get<JobSummary>(jobPath(id, '/summary')),
    ]);
    const text = jobSummaryTable(summary);
    if (text !== last) terminal.print(`\n${text}`);
    last = text;
    if (job.value.Status === 'dead')
      return Object.values(summary.Summary).some(({ Failed }) => Failed > 0) ? PLACEMENT_FAILED : 0;
    if (clock.nowMs() >= until) throw new CommandFailure('Timeout reached after 5m0s');
    await sleep(WAIT_STEP_MS);
  }
}
