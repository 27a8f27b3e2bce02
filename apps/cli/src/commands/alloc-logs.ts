import { allocationOfJob } from '../allocations/allocation-of-job.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { ArgumentFailure, causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { BYTES_PER_LINE, fromLastLines } from '../terminal/last-lines.js';
import { fileBytes } from '../allocations/log-frames.js';
import { DEFAULT_LINES, END_FLAGS, OF_JOB_FLAGS } from '../flags/reading-flags.js';
import { ALLOCATION, resolveUuid } from '../server/resolve-uuid.js';
import { shortId } from '../terminal/short-id.js';
import { tasksOf } from '../allocations/task-of-allocation.js';
import type { AllocationAnswer } from '../allocations/task-sections.js';

type LogType = 'stdout' | 'stderr';

export const command: ServerCommand = {
  usage: '<allocation> [<task>]',
  alias: 'logs',
  description: 'Shows the output of a task, by default stdout from the beginning.\n\nNeeds the capability read-logs.',
  flags: [
    { name: 'stdout', kind: 'switch', help: 'The standard output (the default).' },
    { name: 'stderr', kind: 'switch', help: 'The standard error.' },
    { name: 'f', kind: 'switch', help: 'Follow the output. Alone: new lines of both outputs.' },
    ...END_FLAGS,
    ...OF_JOB_FLAGS,
    { name: 'task', kind: 'text', value: 'task', help: 'The task, if the group has several.' },
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 2, otherwise: 'This command takes one or two arguments' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, args } = call;
  const [given] = args;
  if (given === undefined)
    throw new ArgumentFailure(flags.on('job') ? 'A job ID is required' : 'An allocation ID is required');
  const follow = flags.on('f');
  const [tail, lines, bytes] = [flags.on('tail'), flags.integer('n'), flags.integer('c')];
  if (lines !== undefined && bytes !== undefined) throw new CommandFailure('both -n and -c set');
  const alone =
    follow && !flags.on('stdout') && !flags.on('stderr') && !tail && lines === undefined && bytes === undefined;
  if (flags.on('stdout') && flags.on('stderr')) throw new CommandFailure('Unable to support both stdout and stderr');
  const source = await findSource(call, given);
  try {
    if (alone) await Promise.all([followNew(call, source, 'stdout'), followNew(call, source, 'stderr')]);
    else await showOne(call, source, flags.on('stderr') ? 'stderr' : 'stdout');
  } catch (error) {
    if (!isInterrupt(error) || !follow) throw error;
  }
  return 0;
}

interface LogSource {
  readonly api: Call['api'];
  readonly allocId: string;
  readonly task: string;
}

async function findSource(call: Call, given: string): Promise<LogSource> {
  const display = Display.of(call);
  const stub = call.flags.on('job')
    ? await allocationOfJob(call, given)
    : await resolveUuid(
        call.api,
        { ...ALLOCATION, tooShort: 'Alloc ID must contain at least two characters.' },
        given,
        display,
      );
  const api = call.api.within({ namespace: stub.Namespace });
  const { value } = await api.get<AllocationAnswer>(`/v1/allocation/${stub.ID}`).catch((error: unknown) => {
    throw failed('querying allocation', error);
  });
  return { api, allocId: stub.ID, task: taskFor(value, call.flags.text('task'), call.args[1]) };
}

/**
 * Returns the task whose log is shown: that of `-task`, of the argument, or the only one (CL-412). @throws
 * CommandFailure
 */
export function taskFor(alloc: AllocationAnswer, flag: string | undefined, argument: string | undefined): string {
  const tasks = tasksOf(alloc);
  if (flag !== undefined) {
    if (tasks.includes(flag)) return flag;
    throw new CommandFailure(
      `Failed to validate task: Could not find task named: ${flag}, found:\n${tasks.join('\n')}`,
    );
  }
  if (argument !== undefined) return argument;
  const [only, ...others] = tasks;
  if (only !== undefined && others.length === 0) return only;
  const list = tasks.map((task) => `  * ${task}`).join('\n');
  throw new CommandFailure(
    `Failed to validate task: Allocation "${shortId(alloc.ID)}" is running the following tasks:\n${list}\n\nPlease specify the task.`,
  );
}

const followNew = (call: Call, source: LogSource, type: LogType): Promise<void> =>
  copy(call, source, { type, at: { follow: true, origin: 'end', offset: 0 }, to: type });

/** Prints one stream of a task from its start, or its end under `-tail` (CL-413, CL-414). */
async function showOne(call: Call, source: LogSource, type: LogType): Promise<void> {
  const { flags } = call;
  const follow = flags.on('f');
  if (!flags.on('tail')) return copy(call, source, { type, at: { follow, origin: 'start', offset: 0 } });
  const bytes = flags.integer('c');
  if (bytes !== undefined)
    return copy(call, source, { type, at: { follow, origin: 'end', offset: Math.max(0, bytes) } });
  const count = Math.max(0, flags.integer('n') ?? DEFAULT_LINES);
  return copy(call, source, {
    type,
    at: { follow, origin: 'end', offset: count * BYTES_PER_LINE },
    lineCount: count,
  });
}

/** The part of a log to copy. */
interface LogPart {
  readonly type: LogType;
  readonly at: { readonly follow: boolean; readonly origin: 'start' | 'end'; readonly offset: number };
  /** Output stream of this program, by default stdout. */
  readonly to?: LogType;
  /** Limits the output to this many last lines. */
  readonly lineCount?: number;
}

/** Copies a log. Its bytes are not changed (CL-415). @throws CommandFailure */
async function copy(
  call: Call,
  { api, allocId, task }: LogSource,
  { type, at, to = 'stdout', lineCount }: LogPart,
): Promise<void> {
  try {
    const answer = await api.stream(`/v1/client/fs/logs/${allocId}`, { task, type, ...at });
    const bytes = fileBytes(answer.body);
    const shown = lineCount === undefined ? bytes : fromLastLines(bytes, lineCount, at.follow, call.sleep);
    for await (const chunk of shown) await call.terminal.bytes(chunk, to);
  } catch (error) {
    if (isInterrupt(error)) throw error;
    throw new CommandFailure(`Failed to read ${type} file: ${causeOf(error)}`);
  }
}
