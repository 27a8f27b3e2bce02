import { isatty } from 'node:tty';
import type { Node } from '@waybill/model';
import { upgradeHeaders, WebSocket } from '@waybill/websocket';
import { allocationOfJob } from '../allocation-of-job.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display } from '../display.js';
import { ExecSession } from '../exec-session.js';
import { ArgumentFailure, causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { OF_JOB_FLAGS } from '../reading-flags.js';
import { ALLOCATION, resolveUuid } from '../resolve-uuid.js';
import { mustHaveTask, tasksOf } from '../task-of-allocation.js';
import type { AllocationAnswer } from '../task-sections.js';
import { shortId } from '../short-id.js';

/** Output comes in pieces of some tens of kilobytes. */
const MAX_MESSAGE_BYTES = 4 << 20;

/** CL-431 to CL-434. */
export const command: ServerCommand = {
  usage: '<allocation> <command> [<argument>…]',
  alias: 'exec',
  description:
    'Runs a command beside a task, with its environment, and is connected to it: what you type, what it prints, its exit ' +
    'code. On a terminal, "~." at the beginning of a line ends the session.\n\nNeeds the capability alloc-exec.',
  flags: [
    { name: 'task', kind: 'text', value: 'task', help: 'The task, if the group has several.' },
    ...OF_JOB_FLAGS,
    { name: 'i', kind: 'switch', help: 'What is typed goes to the command (the default).' },
    { name: 't', kind: 'switch', help: 'With a terminal of its own; the default where this is one.' },
    { name: 'it', kind: 'switch', help: '-i and -t.' },
    { name: 'ti', kind: 'switch', help: '-i and -t.' },
    { name: 'e', kind: 'text', value: 'character', help: 'Instead of "~" in "~."; none: nothing ends the session.' },
  ],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  ownArguments: 1,
  run,
};

async function run(call: Call): Promise<number> {
  const { args, flags } = call;
  const [given, ...remote] = args;
  if (given === undefined)
    throw new ArgumentFailure(flags.on('job') ? 'A job ID is required' : 'An allocation ID is required');
  if (remote.length === 0) throw new ArgumentFailure('A command is required');
  const both = flags.on('it') || flags.on('ti');
  const interactive = both || flags.on('i') || !flags.given('i');
  const tty = both || (flags.given('t') ? flags.on('t') : isatty(0) && isatty(1));
  if (tty && !interactive) throw new CommandFailure('-i must be enabled if running with tty');
  const escape = escapeOf(flags.text('e') ?? '~');
  const { api, alloc } = await allocationFor(call, given);
  const task = taskOf(call, alloc);
  await refuseDownNode(api, alloc);
  try {
    const query = { task, command: JSON.stringify(remote), tty };
    const { socket, head } = await api.upgrade(`/v1/client/allocation/${alloc.ID}/exec`, query, upgradeHeaders());
    const session = new ExecSession(
      call,
      new WebSocket(socket, head, { role: 'client', maxMessageBytes: MAX_MESSAGE_BYTES }),
      { tty, interactive, escape },
      process.stdin,
      process.stdout,
    );
    return await session.run();
  } catch (error) {
    if (error instanceof CommandFailure || isInterrupt(error)) throw error;
    throw new CommandFailure(`failed to exec into task: ${causeOf(error)}`);
  }
}

/** @throws CommandFailure */
function escapeOf(text: string): string | undefined {
  if (text === 'none') return undefined;
  if (/^[\x20-\x7e]$/.test(text)) return text;
  throw new CommandFailure("-e requires 'none' or a single character");
}

async function allocationFor(call: Call, given: string): Promise<{ api: Call['api']; alloc: AllocationAnswer }> {
  const stub = call.flags.on('job')
    ? await allocationOfJob(call, given)
    : await resolveUuid(
        call.api,
        { ...ALLOCATION, tooShort: 'Alloc ID must contain at least two characters' },
        given,
        Display.of(call),
      );
  const api = call.api.within({ namespace: stub.Namespace });
  const { value } = await api.get<AllocationAnswer>(`/v1/allocation/${stub.ID}`).catch((error: unknown) => {
    throw failed('querying allocation', error);
  });
  return { api, alloc: value };
}

/** CL-412. @throws CommandFailure */
function taskOf({ flags }: Call, alloc: AllocationAnswer): string {
  const named = flags.text('task');
  if (named !== undefined) {
    mustHaveTask(alloc, named);
    return named;
  }
  const tasks = tasksOf(alloc);
  const [only, another] = tasks;
  if (only !== undefined && another === undefined) return only;
  const list = tasks.map((task) => `  * ${task}`).join('\n');
  throw new CommandFailure(
    `Allocation "${shortId(alloc.ID)}" is running the following tasks:\n${list}\n\nPlease specify the task.`,
  );
}

/** CL-432. */
async function refuseDownNode(api: Call['api'], { NodeID }: AllocationAnswer): Promise<void> {
  const { value } = await api.get<Pick<Node, 'Status'>>(`/v1/node/${NodeID ?? ''}`).catch((error: unknown) => {
    throw new CommandFailure(`failed to exec into task: ${causeOf(error)}`);
  });
  if (value.Status === 'down') throw new CommandFailure('failed to exec into task: the node is down');
}
