import type { AllocListStub, NodeListStub } from '@waybill/model';
import { allocationTable } from '../allocations/allocation-table.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { causeOf, CommandFailure, failed } from '../failure.js';
import {
  allocatedResources,
  driverTable,
  isRunning,
  type NodeAllocation,
  type NodeAnswer,
  nodeEventTable,
  nodeKeyValues,
  sortedList,
} from '../nodes/node-sections.js';
import { deviceAttributes, deviceUse } from '../nodes/node-devices.js';
import { nodeTable } from '../nodes/node-table.js';
import { allocationUse, hostDetails, hostUse, type HostStats } from '../nodes/node-use.js';
import { paginationHint } from '../flags/pagination.js';
import { nodeIdOf, SELF_FLAG } from '../nodes/resolve-node.js';
import { NODE } from '../server/resolve-uuid.js';
import type { AllocationStats } from '../allocations/task-sections.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';
import { someAtOnce } from '../server/some-at-once.js';

export const command: ServerCommand = {
  usage: '[<node>]',
  description:
    'Lists all nodes, or shows one with its resources, its events and its allocations.\n\nNeeds the capability ' +
    'node:read.',
  flags: [
    { name: 'allocs', kind: 'switch', help: 'List the numbers of running allocations.' },
    { name: 'filter', kind: 'text', value: 'expression', help: 'Only matching nodes.' },
    { name: 'os', kind: 'switch', help: 'List the operating systems.' },
    { name: 'page-token', kind: 'text', value: 'token', help: 'Token of the page, as printed after the previous one.' },
    { name: 'per-page', kind: 'integer', value: 'n', help: 'Nodes per page.' },
    { name: 'quiet', kind: 'switch', help: 'Print full IDs only.' },
    SELF_FLAG,
    { name: 'short', kind: 'switch', help: 'For one node: show only its properties and allocations.' },
    { name: 'stats', kind: 'switch', help: 'For one node: show its resource use in detail.' },
    ...DATA_FLAGS,
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <node>' },
  run: (call) => (call.args.length === 0 && !call.flags.on('self') ? listNodes(call) : showNode(call)),
};

const querying = (error: unknown): never => {
  throw failed('querying node status', error);
};

/** Lists the nodes; `-os`, `-verbose` and `-allocs` add columns, `-quiet` prints IDs only (CL-501). */
async function listNodes(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  const [quiet, os] = [flags.on('quiet'), flags.on('os')];
  if (quiet && (flags.on('json') || flags.on('verbose')))
    throw new CommandFailure('-quiet cannot be used with -verbose or -json');
  const query = {
    os: os || undefined,
    filter: flags.text('filter'),
    per_page: flags.integer('per-page'),
    next_token: flags.text('page-token'),
  };
  const answer = await api.get<NodeListStub[] | null>('/v1/nodes', query).catch(querying);
  const nodes = answer.value ?? [];
  if (call.data) call.data(answer.exact);
  else if (quiet && nodes.length > 0) terminal.print(nodes.map((node) => node.ID).join('\n'));
  else if (nodes.length === 0) terminal.print('No nodes registered');
  else {
    const running = flags.on('allocs') ? await runningPerNode(call) : undefined;
    terminal.print(nodeTable(nodes, Display.of(call), { os, ...(running ? { running } : {}) }));
    if (answer.nextToken !== '') terminal.print(paginationHint(call, answer.nextToken));
  }
  await webHint(call, 'View and manage nodes', '/clients');
  return 0;
}

/** Counts running allocations per node with one request for all allocations. */
async function runningPerNode({ api }: Call): Promise<Map<string, number>> {
  const query = { namespace: '*', task_states: false };
  const { value } = await api.get<AllocListStub[] | null>('/v1/allocations', query).catch(querying);
  const counts = new Map<string, number>();
  for (const { NodeID, ClientStatus } of value ?? [])
    if (ClientStatus === 'running') counts.set(NodeID, (counts.get(NodeID) ?? 0) + 1);
  return counts;
}

async function showNode(call: Call): Promise<number> {
  const { api, flags } = call;
  const ID = await nodeIdOf(call, { ...NODE, lookedUpBy: 'prefix' });
  const node = await api.get<NodeAnswer>(`/v1/node/${ID}`).catch(querying);
  if (call.data) {
    call.data(node.exact);
    return 0;
  }
  const allocs = await api.get<NodeAllocation[] | null>(`/v1/node/${ID}/allocations`).catch((error: unknown) => {
    throw failed('querying node allocations', error);
  });
  const use = flags.on('short') || !node.value.NodeResources ? [] : await liveUse(call, node.value, allocs.value ?? []);
  show(call, { node: node.value, allocs: allocs.value ?? [], use });
  await webHint(call, 'View this node', `/clients/${ID}`);
  return 0;
}

/**
 * Returns sections with the present use, as the machine measures it (CL-506, CL-507). Empty if the machine does not
 * answer.
 */
async function liveUse(
  { api, flags, terminal }: Call,
  node: NodeAnswer,
  allocs: readonly NodeAllocation[],
): Promise<Section[]> {
  const host = await api.get<HostStats>('/v1/client/stats', { node_id: node.ID }).catch((error: unknown) => {
    terminal.note(`error fetching node stats: ${causeOf(error)}`);
  });
  if (!host) return [];
  const path = ({ ID }: NodeAllocation) => `/v1/client/allocation/${ID}/stats`;
  const measured = await someAtOnce(
    allocs.filter(isRunning),
    async (alloc) => (await api.get<AllocationStats>(path(alloc))).value,
  ).catch(() => undefined);
  const devices = deviceUse(node.NodeResources?.Devices, host.value);
  return [
    ...(measured ? [['Allocation Resource Utilization', allocationUse(node, measured)] as const] : []),
    ['Host Resource Utilization', hostUse(node, host.value)],
    ...(devices === undefined ? [] : [['Device Resource Utilization', devices] as const]),
    ...(flags.on('stats') ? hostDetails(host.value) : []),
  ];
}

type Section = readonly [title: string, text: string];

/** A node and its sections. */
interface ShownNode {
  readonly node: NodeAnswer;
  readonly allocs: readonly NodeAllocation[];
  /** Measured sections. Empty if the machine does not answer. */
  readonly use: readonly Section[];
}

/** Prints the details and sections of a node (CL-503, CL-505, CL-506). */
function show(call: Call, { node, allocs, use }: ShownNode): void {
  const { flags, terminal } = call;
  const display = Display.of(call);
  const { verbose } = display;
  const short = flags.on('short');
  const section = (title: string, text: string) => {
    terminal.section(title);
    terminal.print(text);
  };
  terminal.print(nodeKeyValues(node, { verbose, short }));
  if (!short) {
    if (verbose) section('Drivers', driverTable(node));
    section('Node Events', nodeEventTable(node, verbose));
    const allocated = allocatedResources(node, allocs);
    if (allocated !== undefined) section('Allocated Resources', allocated);
    for (const [title, text] of use) section(title, text);
  }
  section('Allocations', allocationTable(allocs.map(withoutName), display));
  if (!verbose || short) return;
  section('Attributes', sortedList(node.Attributes));
  const groups = deviceAttributes(node.NodeResources?.Devices);
  if (groups !== undefined) section('Device Group Attributes', groups);
  section('Meta', sortedList(node.Meta));
}

const withoutName = ({ Job, ...alloc }: NodeAllocation) => ({ ...alloc, JobVersion: Job?.Version ?? 0 });
