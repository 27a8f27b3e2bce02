import type { TraceStep } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { readTrace, type TracedEvaluation } from '../evaluations/evaluation-trace-reader.js';
import { EvaluationTraceText } from '../evaluations/evaluation-trace-text.js';
import { CommandFailure } from '../failure.js';
import { EVALUATION, resolveUuid, UnknownPrefix } from '../server/resolve-uuid.js';
import { retriedRead } from '../server/retried-read.js';
import { namespaceWord, watchable } from '../server/watch-on.js';
import { isUuid } from '../terminal/short-id.js';

/** Milliseconds between two reads of an unfinished evaluation. */
const LOOK_MS = 500;
const OVER = new Set(['complete', 'failed', 'canceled']);

/** Prints the timeline of an evaluation, derived from the log of transactions (CL-1041 to CL-1048). */
export const command: ServerCommand = {
  usage: '<evaluation>',
  description:
    'Shows where an evaluation spent its time, from its submission through the plan to running and healthy ' +
    "allocations. The data comes from the log of transactions. ~ marks times by an agent's clock.\n\nNeeds the " +
    'capability read-job.',
  flags: [
    { name: 'f', kind: 'switch', help: 'Print steps as they come, until the evaluation and its deployment are over.' },
    { name: 'allocs', kind: 'switch', help: 'Show the steps of all allocations instead of the five slowest ones.' },
    { name: 'related', kind: 'switch', help: 'Show the timelines of related evaluations too.' },
    ...DATA_FLAGS,
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <evaluation>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, terminal } = call;
  const { id, namespace } = await find(call);
  const there = { ...call, api: call.api.within({ namespace }) };
  const read = (one: string) => readTrace(there, one, flags.on('allocs'));
  const following = flags.on('f') && !call.data;
  const again = () => `trace -f${namespaceWord(there.api)} ${Display.of(call).id(id)}`;
  const traced = following ? await watchable(call, again, () => follow(there, () => read(id))) : await read(id);
  if (!traced) throw notFound(call.args[0] ?? '');
  if (call.data) {
    call.data(traced.answer.exact);
    return 0;
  }
  show(call, traced, !following);
  if (!flags.on('related')) return 0;
  for (const related of traced.trace.Related.toSorted((a, b) => a.Started - b.Started)) {
    const other = await read(related.ID);
    if (!other) continue; // collected meanwhile
    terminal.print('');
    show(call, other, true);
  }
  return 0;
}

/**
 * Finds the evaluation. A full ID may belong to an evaluation that only the log still contains (CL-1048). @throws
 * CommandFailure
 */
async function find(call: Call): Promise<{ id: string; namespace: string | undefined }> {
  const [given = ''] = call.args;
  try {
    const { ID, Namespace } = await resolveUuid(call.api, EVALUATION, given, Display.of(call));
    return { id: ID, namespace: Namespace };
  } catch (error) {
    if (error instanceof UnknownPrefix && isUuid(given)) return { id: given, namespace: undefined };
    throw error;
  }
}

const notFound = (given: string): CommandFailure =>
  new CommandFailure(`No evaluation(s) with prefix or id "${given}" found`);

function show(call: Call, { trace, evaluation, floor }: TracedEvaluation, withLine: boolean): void {
  const { terminal } = call;
  const text = new EvaluationTraceText(trace, Display.of(call), terminal);
  terminal.print(text.list(evaluation));
  if (withLine) {
    terminal.section('Time Line');
    terminal.print(text.timeLine());
  }
  if (trace.Related.length > 0) {
    terminal.section('Related Evaluations');
    terminal.print(text.related());
  }
  if (!trace.Complete) terminal.warn(`History before index ${floor} is no longer kept: steps are missing`);
}

/** Prints steps as they come until the evaluation ends (CL-1046). Resolves with the final trace. */
async function follow(
  call: Call,
  read: () => Promise<TracedEvaluation | undefined>,
): Promise<TracedEvaluation | undefined> {
  const printed = new Set<string>();
  for (;;) {
    const traced = await retriedRead('trace', call, read);
    if (!traced) return undefined;
    const { trace } = traced;
    const text = new EvaluationTraceText(trace, Display.of(call), call.terminal);
    if (printed.size === 0 && trace.Steps.length > 0) call.terminal.print(EvaluationTraceText.header());
    for (const step of trace.Steps) {
      if (printed.has(keyOf(step))) continue;
      printed.add(keyOf(step));
      call.terminal.print(text.row(step));
    }
    if (isOver(traced)) {
      call.terminal.print('');
      return traced;
    }
    await call.sleep(LOOK_MS);
  }
}

/**
 * Returns the identity of a step, which stays the same when the step gets more details: for an allocation its ID, for a
 * commit its index.
 */
function keyOf({ Name, Time, Index, Details: { allocation, task } }: TraceStep): string {
  if (allocation !== undefined) return [Name, allocation, task].join(' ');
  return Index === 0 ? `${Name} at ${Time}` : `${Name} in ${Index}`;
}

/** Whether the evaluation and its deployment have ended. */
function isOver({ evaluation, trace: { Steps } }: TracedEvaluation): boolean {
  if (evaluation && !OVER.has(evaluation.Status)) return false;
  return !evaluation?.DeploymentID || Steps.some(({ Name }) => Name.startsWith('deployment '));
}
