import type { CpuSpeed } from './cpu-speed.js';

/** Where a core is, as the kernel numbers sockets and NUMA nodes; both 0 where it does not say. */
export interface CorePlace {
  readonly socket: number;
  readonly node: number;
}

/** What is told of a machine's cores, in the shape that clients of the reference know. */
export interface Topology extends Record<string, unknown> {
  readonly Nodes: readonly number[];
  /** From each NUMA node to each; 10: to itself. */
  readonly Distances: readonly (readonly number[])[];
  readonly Cores: readonly object[];
  readonly OverrideTotalCompute: number;
  readonly OverrideWitholdCompute: number;
}

/**
 * @param distances of the NUMA nodes, in their order; empty: the machine does not say
 * @param totalMhz that a setting says; 0: none
 */
export function topologyOf(
  { mhz, source }: CpuSpeed,
  places: readonly CorePlace[],
  distances: readonly (readonly number[])[],
  totalMhz: number,
): Topology {
  const Nodes = [...new Set(places.map(({ node }) => node))].toSorted((a, b) => a - b);
  const isBase = source.endsWith('base_frequency');
  const isMax = source.endsWith('cpuinfo_max_freq');
  return {
    Nodes,
    Distances: distances.length > 0 ? distances : Nodes.map((from) => Nodes.map((to) => (from === to ? NEAR : FAR))),
    Cores: places.map(({ socket, node }, ID) => {
      const speed = mhz[ID] ?? 0;
      return {
        SocketID: socket,
        NodeID: node,
        ID,
        Grade: true, // of full performance
        Disable: false,
        BaseSpeed: isBase ? speed : 0,
        MaxSpeed: isMax ? speed : 0,
        GuessSpeed: isBase || isMax ? 0 : speed,
      };
    }),
    OverrideTotalCompute: totalMhz,
    OverrideWitholdCompute: 0,
  };
}

/** As firmware says it of a node to itself, and of most to their neighbours. */
const [NEAR, FAR] = [10, 20];

/** Attributes by NUMA node: how many there are, and the cores of each. */
export function numaAttributes(places: readonly CorePlace[]): Record<string, string> {
  const cores = new Map<number, number[]>();
  for (const [core, { node }] of places.entries()) cores.set(node, [...(cores.get(node) ?? []), core]);
  const byNode = [...cores].map(([node, list]) => [`numa.node${node}.cores`, ranges(list)] as const);
  return { 'numa.node.count': String(cores.size), ...Object.fromEntries(byNode) };
}

/** `0-3,8`, as the kernel writes lists of processors. @param numbers ascending */
function ranges(numbers: readonly number[]): string {
  const parts: [first: number, last: number][] = [];
  for (const number of numbers) {
    const open = parts.at(-1);
    if (open && open[1] === number - 1) open[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}
