import { parseDuration } from '@waybill/model/duration';
import type { ExactJson } from '../terminal/exact-json.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { refusal } from '../terminal/confirmation.js';
import { DETACH_FLAG } from '../terminal/display.js';
import { DrainMonitor } from '../nodes/drain-monitor.js';
import { ArgumentFailure, CommandFailure, failed } from '../failure.js';
import type { NodeAnswer } from '../nodes/node-sections.js';
import { nodeIdOf, readNode, SELF_FLAG } from '../nodes/resolve-node.js';
import { NODE } from '../server/resolve-uuid.js';
import { shortId } from '../terminal/short-id.js';
import { rfc3339 } from '../terminal/times.js';
import { watchable } from '../server/watch-on.js';

const DEFAULT_DEADLINE_NS = 3_600e9;
/** A negative deadline forces the drain at once. */
const FORCED_NS = -1e9;
const UUID_CHARS = 36;

export const command: ServerCommand = {
  usage: '<node>',
  description:
    'Moves the allocations off a node, a few at a time as their jobs allow, and watches the drain.\n\nNeeds the ' +
    'capability node:write; to watch, node:read.',
  flags: [
    {
      name: 'deadline',
      kind: 'text',
      value: 'duration',
      help: 'Remaining allocations are moved at once after this time (default 1h).',
    },
    DETACH_FLAG,
    { name: 'disable', kind: 'switch', help: 'Cancel the drain.' },
    { name: 'enable', kind: 'switch', help: 'Drain the node.' },
    { name: 'force', kind: 'switch', help: 'Move everything at once.' },
    { name: 'ignore-system', kind: 'switch', help: 'Leave system jobs where they are.' },
    { name: 'keep-ineligible', kind: 'switch', help: 'With -disable: keep the node ineligible for new allocations.' },
    { name: 'm', kind: 'text', value: 'text', help: 'Reason for the drain, stored with the node.' },
    { name: 'meta', kind: 'list', value: 'key=value', help: 'Metadata of the drain. May be repeated.' },
    { name: 'monitor', kind: 'switch', help: 'Watch a drain in progress.' },
    { name: 'no-deadline', kind: 'switch', help: 'Set no deadline.' },
    SELF_FLAG,
    { name: 'yes', kind: 'switch', help: 'Do not ask.' },
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes one argument: <node>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags } = call;
  checkFlags(call);
  const deadlineNs = deadlineOf(call);
  const toggling = 'toggling drain mode';
  const id = await nodeIdOf(call, { ...NODE, doing: toggling });
  const node = await readNode(call, id, toggling);
  if (flags.on('monitor')) return watch(call, node);
  const enable = flags.on('enable');
  const isPrefix = !flags.on('self') && (call.args[0] ?? '').length < UUID_CHARS;
  if (isPrefix && !flags.on('yes')) {
    const question = `Are you sure you want to ${enable ? 'enable' : 'disable'} drain mode for node "${id}"?`;
    const refused = await refusal(call, question, 'Canceling drain toggle');
    if (refused !== undefined) return refused;
  }
  return enable ? drain(call, id, deadlineNs) : cancel(call, node);
}

/** Refuses wrong combinations of flags, in the order of the contract (CL-511). */
function checkFlags({ flags, args }: Call): void {
  const [enable, disable, monitor] = [flags.on('enable'), flags.on('disable'), flags.on('monitor')];
  const refuse = (text: string): never => {
    throw new ArgumentFailure(text);
  };
  if (monitor && (enable || disable)) refuse("The -monitor flag cannot be used with the '-enable' or '-disable' flags");
  if (!monitor && enable === disable)
    refuse("Either the '-enable' or '-disable' flag must be set, unless using '-monitor'");
  if (flags.on('self') === (args.length === 1)) refuse("Node ID must be specified if -self isn't being used");
  const [deadline, force, none] = [flags.given('deadline'), flags.on('force'), flags.on('no-deadline')];
  if (disable && (deadline || force || none || flags.on('ignore-system')))
    refuse("-disable can't be combined with flags configuring drain strategy");
  if (deadline && (force || none)) refuse("-deadline can't be combined with -force or -no-deadline");
  if (force && none) refuse('-force and -no-deadline are mutually exclusive');
}

/** Returns the deadline in nanoseconds, the API's unit (CL-513). */
function deadlineOf({ flags }: Call): number {
  if (flags.on('force')) return FORCED_NS;
  if (flags.on('no-deadline')) return 0;
  const text = flags.text('deadline');
  if (text === undefined) return DEFAULT_DEADLINE_NS;
  const ns = parseDuration(text);
  if (ns === undefined)
    throw new CommandFailure(`Failed to parse deadline "${text}": time: invalid duration "${text}"`);
  if (ns <= 0) throw new CommandFailure('A positive drain duration must be given');
  return ns;
}

/** Starts a drain and, unless detached, monitors it (CL-514). */
async function drain(call: Call, id: string, Deadline: number): Promise<number> {
  const DrainSpec = { Deadline, IgnoreSystemJobs: call.flags.on('ignore-system') };
  const { value } = await update(call, id, DrainSpec, {});
  const { terminal, clock } = call;
  if (call.flags.on('detach')) {
    terminal.print(`Node "${id}" drain strategy set`);
    return 0;
  }
  const now = rfc3339(clock.nowMs());
  terminal.print(`${now}: Ctrl-C to stop monitoring: will not cancel the node drain`);
  terminal.print(`${now}: Node "${id}" drain strategy set`);
  return watched(call, id, async (monitor) => {
    const { DrainStrategy = null } = await readNode(call, id, 'monitoring node');
    await monitor.follow(DrainStrategy, DrainStrategy ? value.NodeModifyIndex : 0);
  });
}

async function cancel(call: Call, node: NodeAnswer): Promise<number> {
  await update(call, node.ID, null, node.LastDrain?.Meta ?? {});
  call.terminal.print(`Node "${node.ID}" drain strategy unset`);
  return 0;
}

async function watch(call: Call, { ID, DrainStrategy }: NodeAnswer): Promise<number> {
  if (!DrainStrategy) {
    call.terminal.warn('No drain strategy set');
    return 0;
  }
  call.terminal.print(`${rfc3339(call.clock.nowMs())}: Monitoring node "${ID}": Ctrl-C to detach monitoring`);
  return watched(call, ID, (monitor) => monitor.follow(DrainStrategy, 0));
}

async function watched(call: Call, id: string, watching: (monitor: DrainMonitor) => Promise<void>): Promise<number> {
  const again = () => `node drain -monitor ${shortId(id)}`;
  await watchable(call, again, () => watching(new DrainMonitor(call, id)));
  return 0;
}

/** Sends the drain specification. `-m` becomes the message, and `-meta` is merged last (CL-513). */
function update(call: Call, NodeID: string, DrainSpec: ExactJson, meta: Readonly<Record<string, string>>) {
  const { flags } = call;
  const text = flags.text('m');
  const Meta: Record<string, string> = { ...meta };
  if (text !== undefined) Meta[DrainSpec ? 'message' : 'cancel_message'] = text;
  for (const pair of flags.list('meta')) {
    const [key = '', ...value] = pair.split('=');
    Meta[key] = value.join('=');
  }
  const body = { NodeID, DrainSpec, MarkEligible: !flags.on('keep-ineligible'), Meta };
  return call.api
    .put<{ readonly NodeModifyIndex: number }>(`/v1/node/${NodeID}/drain`, body)
    .catch((error: unknown) => {
      throw failed('updating drain specification', error);
    });
}
