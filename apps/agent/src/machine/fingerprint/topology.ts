import type { CpuSpeed } from './cpu-speed.js';

/**
 * CorePlace says where a core is, as the kernel numbers sockets and NUMA nodes. Both are 0 if the kernel does not show
 * them.
 */
export interface CorePlace {
  readonly socket: number;
  readonly node: number;
}

/** Topology describes a machine's cores in the shape that clients of the reference know. */
export interface Topology extends Record<string, unknown> {
  readonly Nodes: readonly number[];
  /** The distances from each NUMA node to each other. A node's distance to itself is 10. */
  readonly Distances: readonly (readonly number[])[];
  readonly Cores: readonly object[];
  readonly OverrideTotalCompute: number;
  readonly OverrideWitholdCompute: number;
}

/**
 * Returns the topology of a machine.
 * @param distances the distances of the NUMA nodes, in their order; empty if the machine does not show them
 * @param totalMhz the setting that replaces the sum over the cores; 0 means none
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
        Grade: true, // a core of full performance
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

/** The distances that firmware reports for a node to itself and, mostly, to its neighbours. */
const [NEAR, FAR] = [10, 20];

/** Returns the attributes of NUMA nodes: their number, and the cores of each. */
export function numaAttributes(places: readonly CorePlace[]): Record<string, string> {
  const cores = new Map<number, number[]>();
  for (const [core, { node }] of places.entries()) cores.set(node, [...(cores.get(node) ?? []), core]);
  const byNode = [...cores].map(([node, list]) => [`numa.node${node}.cores`, formatRanges(list)] as const);
  return { 'numa.node.count': String(cores.size), ...Object.fromEntries(byNode) };
}

/** Formats numbers as ranges, such as `0-3,8`, like the kernel's lists of processors. @param numbers ascending */
function formatRanges(numbers: readonly number[]): string {
  const parts: [first: number, last: number][] = [];
  for (const number of numbers) {
    const open = parts.at(-1);
    if (open && open[1] === number - 1) open[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}
