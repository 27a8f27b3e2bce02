import type { AllocatedResources, NodeListStub } from '../../api/contract.js';
import { stateOfNode } from '../clients/node-list-filter.js';

export const MEASURES = ['cpu', 'memory'] as const;
/** Measure is what the topology shows: CPU in MHz or memory in MiB. */
export type Measure = (typeof MEASURES)[number];

/** Amounts is CPU in MHz and memory in MiB. */
export type Amounts = Readonly<Record<Measure, number>>;

/** PlacedAllocation is an allocation that takes room on a machine. */
export interface PlacedAllocation {
  readonly id: string;
  readonly nodeId: string;
  readonly jobId: string;
  readonly namespace: string;
  readonly given: Amounts;
}

/** TopologyNode is a machine with the room that it offers. */
export interface TopologyNode {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly datacenter: string;
  readonly pool: string;
  readonly offered: Amounts;
}

/** Machine is a machine with the allocations on it, the largest first. */
export interface Machine extends TopologyNode {
  readonly allocations: readonly PlacedAllocation[];
  readonly given: Amounts;
}

/** MachineGroup is the machines of one pool in one datacenter. */
export interface MachineGroup {
  readonly datacenter: string;
  readonly pool: string;
  readonly machines: readonly Machine[];
  readonly offered: Amounts;
  readonly given: Amounts;
}

const NONE: Amounts = { cpu: 0, memory: 0 };

type NodeMembers = Pick<
  NodeListStub,
  | 'ID'
  | 'Name'
  | 'Datacenter'
  | 'NodePool'
  | 'Status'
  | 'Drain'
  | 'SchedulingEligibility'
  | 'NodeResources'
  | 'ReservedResources'
>;

/** Returns a machine of the API with what it offers to jobs: its resources without those that are reserved. */
export function topologyNode(node: NodeMembers): TopologyNode {
  const { NodeResources: all, ReservedResources: reserved } = node;
  return {
    id: node.ID,
    name: node.Name,
    state: stateOfNode(node),
    datacenter: node.Datacenter,
    pool: node.NodePool,
    offered: {
      cpu: Math.max(0, (all?.Cpu.CpuShares ?? 0) - (reserved?.Cpu.CpuShares ?? 0)),
      memory: Math.max(0, (all?.Memory.MemoryMB ?? 0) - (reserved?.Memory.MemoryMB ?? 0)),
    },
  };
}

interface AllocationMembers {
  readonly ID: string;
  readonly NodeID: string;
  readonly JobID: string;
  readonly Namespace: string;
  readonly ClientStatus: string;
  readonly AllocatedResources?: AllocatedResources | null;
}

const TAKES_ROOM = new Set(['pending', 'running', 'unknown']);

/** Returns an allocation of the API, or undefined if it has ended and takes no room. */
export function placedAllocation(alloc: AllocationMembers): PlacedAllocation | undefined {
  if (!TAKES_ROOM.has(alloc.ClientStatus)) return undefined;
  const tasks = Object.values(alloc.AllocatedResources?.Tasks ?? {});
  return {
    id: alloc.ID,
    nodeId: alloc.NodeID,
    jobId: alloc.JobID,
    namespace: alloc.Namespace,
    given: {
      cpu: tasks.reduce((sum, { Cpu }) => sum + Cpu.CpuShares, 0),
      memory: tasks.reduce((sum, { Memory }) => sum + Memory.MemoryMB, 0),
    },
  };
}

const plus = (a: Amounts, b: Amounts): Amounts => ({ cpu: a.cpu + b.cpu, memory: a.memory + b.memory });

function groupedBy<T>(all: Iterable<T>, keyOf: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one));
    if (group) group.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}

/** Puts allocations on their machines. Cost: linear in both, and a sort of each. */
export function machinesOf(nodes: Iterable<TopologyNode>, allocations: Iterable<PlacedAllocation>): readonly Machine[] {
  const byNode = groupedBy(allocations, ({ nodeId }) => nodeId);
  return [...nodes]
    .map((node) => {
      const own = (byNode.get(node.id) ?? []).toSorted((a, b) => b.given.memory - a.given.memory);
      return { ...node, allocations: own, given: own.reduce((sum, { given }) => plus(sum, given), NONE) };
    })
    .toSorted(
      (a, b) =>
        order(a.datacenter, b.datacenter) || order(a.pool, b.pool) || order(a.name, b.name) || order(a.id, b.id),
    );
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the machines by datacenter and pool, in the order of the machines. */
export const groupsOf = (machines: readonly Machine[]): readonly MachineGroup[] =>
  [...groupedBy(machines, ({ datacenter, pool }) => JSON.stringify([datacenter, pool])).values()].map((group) => ({
    datacenter: group[0]?.datacenter ?? '',
    pool: group[0]?.pool ?? '',
    machines: group,
    offered: group.reduce((sum, { offered }) => plus(sum, offered), NONE),
    given: group.reduce((sum, { given }) => plus(sum, given), NONE),
  }));

/** Returns the share of the offered room that is given to allocations, from 0 to 1; more if it was oversubscribed. */
export const shareOf = ({ offered, given }: Pick<Machine, 'offered' | 'given'>, by: Measure): number =>
  offered[by] === 0 ? 0 : given[by] / offered[by];

export interface TopologyFilter {
  /** A text in the name of the machine or of a job that runs there. */
  readonly search?: string;
  readonly datacenter?: string;
  readonly pool?: string;
  readonly status?: string;
}

export function filteredMachines(machines: readonly Machine[], filter: TopologyFilter): readonly Machine[] {
  const { search = '', datacenter, pool, status } = filter;
  const text = search.trim().toLowerCase();
  return machines
    .filter((machine) => datacenter === undefined || machine.datacenter === datacenter)
    .filter((machine) => pool === undefined || machine.pool === pool)
    .filter((machine) => status === undefined || machine.state === status)
    .filter(
      ({ name, allocations }) =>
        text === '' || name.toLowerCase().includes(text) || allocations.some((alloc) => isOfJob(alloc, text)),
    );
}

/** Says whether an allocation belongs to a job with this text in its ID. */
export const isOfJob = ({ jobId }: PlacedAllocation, text: string): boolean => jobId.toLowerCase().includes(text);
