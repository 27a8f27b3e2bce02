import { isatty } from 'node:tty';
import type { Node } from '@waybill/model';
import type { ApiClient, Query } from './api-client.js';
import type { Call } from '../command-spec.js';
import { type ExecOptions, ExecSession } from '../allocations/exec-session.js';
import { causeOf, CommandFailure, isInterrupt } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { shortId } from '../terminal/short-id.js';
import { mustHaveTask, tasksOf } from '../allocations/task-of-allocation.js';
import type { AllocationAnswer } from '../allocations/task-sections.js';

/** Longest accepted message. Output arrives in pieces of tens of kilobytes. */
const MAX_MESSAGE_BYTES = 4 << 20;

/** Flags for the connection between a command in a task and this terminal (CL-431). */
export const CONNECTION_FLAGS: readonly Flag[] = [
  { name: 'i', kind: 'switch', help: 'Send typed input to the command (the default).' },
  { name: 't', kind: 'switch', help: 'Allocate a terminal for the command. The default if stdin is a terminal.' },
  { name: 'it', kind: 'switch', help: '-i and -t.' },
  { name: 'ti', kind: 'switch', help: '-i and -t.' },
  { name: 'e', kind: 'text', value: 'character', help: 'Escape character instead of "~", or none to disable it.' },
];

/** @throws CommandFailure */
export function connectionOptions(flags: ParsedFlags): ExecOptions {
  const both = flags.on('it') || flags.on('ti');
  const interactive = both || flags.on('i') || !flags.given('i');
  const tty = both || (flags.given('t') ? flags.on('t') : isatty(0) && isatty(1));
  if (tty && !interactive) throw new CommandFailure('-i must be enabled if running with tty');
  return { tty, interactive, escape: escapeOf(flags.text('e') ?? '~') };
}

/** @throws CommandFailure */
function escapeOf(text: string): string | undefined {
  if (text === 'none') return undefined;
  if (/^[\x20-\x7e]$/.test(text)) return text;
  throw new CommandFailure("-e requires 'none' or a single character");
}

/** Returns the task of the flag, or the only one (CL-412). @throws CommandFailure */
export function commandTask({ flags }: Call, alloc: AllocationAnswer): string {
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

/**
 * Runs a command in a task of the allocation (CL-432). `path` and `query` select it. Resolves with its exit code.
 * @throws CommandFailure, AbortError at Ctrl-C
 */
export async function runRemote(
  call: Call,
  api: ApiClient,
  { NodeID }: AllocationAnswer,
  { path, query, options }: { readonly path: string; readonly query: Query; readonly options: ExecOptions },
): Promise<number> {
  try {
    const { value } = await api.get<Pick<Node, 'Status'>>(`/v1/node/${NodeID ?? ''}`);
    if (value.Status === 'down') throw new CommandFailure('failed to exec into task: the node is down');
    const connection = await api.webSocket(path, { ...query, tty: options.tty }, MAX_MESSAGE_BYTES);
    return await new ExecSession(call, connection, options, process).runCommand();
  } catch (error) {
    if (error instanceof CommandFailure || isInterrupt(error)) throw error;
    throw new CommandFailure(`failed to exec into task: ${causeOf(error)}`);
  }
}
