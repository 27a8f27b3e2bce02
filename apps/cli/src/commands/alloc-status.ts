import type { AllocCheckStatus, AllocListStub, Evaluation } from '@waybill/model';
import {
  addressSection,
  allocationList,
  checkSection,
  deadlineRow,
  hasChecks,
  type TitledTable,
} from '../allocations/allocation-sections.js';
import type { Answer } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { placementBullets, scoreLines } from '../jobs/placement-metrics.js';
import { measuredUse } from '../allocations/measured-use.js';
import { ALLOCATION, AmbiguousPrefix, resolveUuid } from '../server/resolve-uuid.js';
import { keyValues, table } from '../terminal/table.js';
import { taskDevices } from '../allocations/task-devices.js';
import {
  type AllocationAnswer,
  type AllocationStats,
  lifecycleCell,
  lifecycleMark,
  lifecycleOf,
  orderedTasks,
  taskEvents,
  taskResources,
  taskTimes,
  usageOf,
} from '../allocations/task-sections.js';
import { absoluteTime, msOf } from '../terminal/times.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';

export const command: ServerCommand = {
  usage: '<allocation>',
  description: 'Shows an allocation: its machine and the state of each task.\n\nNeeds the capability read-job.',
  flags: [
    { name: 'short', kind: 'switch', help: 'Show only the states of the tasks.' },
    { name: 'stats', kind: 'switch', help: 'Show all measurements of memory and CPU.' },
    ...DATA_FLAGS,
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: {
    min: 0,
    max: 1,
    otherwise: [
      'This command takes one of the following argument conditions:',
      ' * A single <allocation>',
      ' * No arguments, with output format specified',
    ].join('\n'),
  },
  run,
};

async function run(call: Call): Promise<number> {
  const { api, args, flags, terminal } = call;
  const [given] = args;
  if (given === undefined) {
    if (!call.data) throw new CommandFailure(command.takes.otherwise);
    const all = await reading('querying allocations', api.get<unknown>('/v1/allocations'));
    call.data(all.exact);
    return 0;
  }
  const display = Display.of(call);
  let stub: AllocListStub;
  try {
    stub = await resolveUuid(api, ALLOCATION, given, display);
  } catch (error) {
    // Only this command accepts several matches as a result (CL-156).
    if (!(error instanceof AmbiguousPrefix)) throw error;
    terminal.print(error.message);
    return 0;
  }
  const there = { ...call, api: api.within({ namespace: stub.Namespace }) };
  const alloc = await reading('querying allocation', there.api.get<AllocationAnswer>(`/v1/allocation/${stub.ID}`));
  if (call.data) call.data(alloc.exact);
  else if (flags.on('short')) showShort(call, alloc.value, display);
  else await show(there, alloc.value, display);
  await webHint(call, 'View this allocation', `/allocations/${stub.ID}`);
  return 0;
}

/** Prints the short form: a few keys and the last event of each task (CL-409). */
function showShort({ terminal }: Call, alloc: AllocationAnswer, display: Display): void {
  terminal.print(
    keyValues([
      ['ID', alloc.ID],
      ['Name', alloc.Name ?? ''],
      ['Created', display.time(alloc.CreateTime)],
      ['Modified', display.time(alloc.ModifyTime)],
      ...deadlineRow(alloc, display),
    ]),
  );
  terminal.section('Tasks');
  const rows = orderedTasks(alloc).map(([name, state]) => {
    const last = (state.Events ?? []).at(-1);
    return [name, state.State, last?.Type ?? '', absoluteTime(last?.Time), lifecycleCell(lifecycleOf(alloc, name))];
  });
  terminal.print(table([['Name', 'State', 'Last Event', 'Time', 'Lifecycle'], ...rows]));
}

async function show(call: Call, alloc: AllocationAnswer, display: Display): Promise<void> {
  const { terminal } = call;
  terminal.print(allocationList(alloc, display, await rescheduleTime(call, alloc)));
  const addresses = addressSection(alloc);
  if (addresses) showSection(call, addresses);
  const checks = await checksOf(call, alloc);
  if (checks.length > 0) showSection(call, checkSection(checks));
  const stats = await statsOf(call, alloc.ID);
  for (const [name, state] of orderedTasks(alloc)) {
    terminal.section(`Task "${name}"${lifecycleMark(lifecycleOf(alloc, name))} is "${state.State}"`);
    const resources = taskResources(alloc, name, usageOf(stats, name));
    if (resources !== undefined) terminal.print(`Task Resources:\n${resources}\n`);
    const devices = taskDevices(alloc, name, stats);
    if (devices !== undefined) terminal.print(`Task Devices:\n${devices}\n`);
    if (call.flags.on('stats'))
      for (const measured of measuredUse(stats, name)) terminal.print(`${measured.title}\n${measured.table}\n`);
    terminal.print(`Task Events:\n${taskTimes(state)}\n\nRecent Events:\n${taskEvents(state)}`);
  }
  if (!display.verbose || !alloc.Metrics) return;
  terminal.section('Placement Metrics');
  // A successful placement also examined nodes. The bullets tell why others were excluded.
  const lines = [...placementBullets(alloc.Metrics, (text) => terminal.red(text)), ...scoreLines(alloc.Metrics)];
  for (const line of lines) terminal.print(`  ${line}`);
}

function showSection({ terminal }: Call, { title, text }: TitledTable): void {
  terminal.section(title);
  terminal.print(text);
}

/**
 * Returns when the evaluation that will reschedule a failed allocation is due, or undefined if there is none or it
 * cannot be read.
 */
async function rescheduleTime({ api, clock }: Call, { FollowupEvalID }: AllocationAnswer): Promise<number | undefined> {
  if (!FollowupEvalID) return undefined;
  const evaluation = await unlessItFails(api.get<Partial<Evaluation>>(`/v1/evaluation/${FollowupEvalID}`));
  const dueMs = msOf(evaluation?.WaitUntil);
  return dueMs !== undefined && dueMs > clock.nowMs() ? dueMs * 1e6 : undefined;
}

/** Reads the results of service checks. If that fails, the section is left out (CL-404). */
async function checksOf({ api }: Call, alloc: AllocationAnswer): Promise<readonly AllocCheckStatus[]> {
  if (!hasChecks(alloc)) return [];
  const path = `/v1/client/allocation/${alloc.ID}/checks`;
  return Object.values((await unlessItFails(api.get<Record<string, AllocCheckStatus>>(path))) ?? {});
}

async function unlessItFails<T>(answer: Promise<Answer<T>>): Promise<T | undefined> {
  try {
    return (await answer).value;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    return undefined;
  }
}

/** Reads the statistics. If that fails, a note is printed and everything else is shown (CL-405). */
async function statsOf({ api, terminal }: Call, id: string): Promise<AllocationStats | undefined> {
  try {
    return (await api.get<AllocationStats>(`/v1/client/allocation/${id}/stats`)).value;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    terminal.print('');
    terminal.note(`Couldn't retrieve stats: ${causeOf(error)}`);
    return undefined;
  }
}

/** @throws CommandFailure */
const reading = <T>(doing: string, answer: Promise<Answer<T>>): Promise<Answer<T>> =>
  answer.catch((error: unknown) => {
    throw failed(doing, error);
  });
