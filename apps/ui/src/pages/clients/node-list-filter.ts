import type { NodeListStub } from '../../api/contract.js';

/** NodeFilter says what the list of machines shows, as its address says. */
export interface NodeFilter {
  readonly search?: string;
  readonly status?: string;
  readonly pool?: string;
}

export const NODE_STATES = ['ready', 'ineligible', 'draining', 'initializing', 'disconnected', 'down'] as const;

/** @param search the query of an address, whose members may be anything */
export function readNodeFilter(search: Readonly<Record<string, unknown>>): NodeFilter {
  const names = ['search', 'status', 'pool'] as const;
  const given = names.map((name) => [name, search[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => typeof value === 'string' && value !== ''));
}

type Standing = Pick<NodeListStub, 'Status' | 'Drain' | 'SchedulingEligibility'>;

/** Returns a machine's state as a reader understands it: whether it accepts work, and if not, why. */
export function stateOfNode({ Status, Drain, SchedulingEligibility }: Standing): string {
  if (Status !== 'ready') return Status;
  return Drain ? 'draining' : SchedulingEligibility === 'eligible' ? 'ready' : 'ineligible';
}

/** Returns the drivers that work on the machine. */
export function driversInWords(drivers: NodeListStub['Drivers']): string {
  const healthy = Object.entries(drivers ?? {}).filter(([, { Detected, Healthy }]) => Detected && Healthy);
  return (
    healthy
      .map(([name]) => name)
      .toSorted()
      .join(', ') || 'none'
  );
}

/** Returns the machines that pass the filter, by name. */
export function filteredNodes(nodes: readonly NodeListStub[], filter: NodeFilter): readonly NodeListStub[] {
  const { search = '', status, pool } = filter;
  const text = search.trim().toLowerCase();
  return nodes
    .filter((node) => status === undefined || stateOfNode(node) === status)
    .filter((node) => pool === undefined || node.NodePool === pool)
    .filter(({ Name, ID, Address }) => `${Name} ${ID} ${Address}`.toLowerCase().includes(text))
    .toSorted((a, b) => (a.Name < b.Name ? -1 : a.Name > b.Name ? 1 : a.ID < b.ID ? -1 : 1));
}
