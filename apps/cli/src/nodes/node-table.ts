import type { NodeListStub } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import { table } from '../terminal/table.js';

export interface NodeColumns {
  readonly os?: boolean;
  /** Number of running allocations by node ID. */
  readonly running?: ReadonlyMap<string, number>;
}

/** Lists nodes (CL-501). */
export function nodeTable(nodes: readonly NodeListStub[], display: Display, { os, running }: NodeColumns = {}): string {
  const when = <T>(shown: boolean, ...cells: T[]): T[] => (shown ? cells : []);
  return table([
    [
      'ID',
      'Node Pool',
      'DC',
      'Name',
      'Class',
      ...when(os === true, 'OS'),
      ...when(display.verbose, 'Address', 'Version'),
      'Drain',
      'Eligibility',
      'Status',
      ...when(running !== undefined, 'Running Allocs'),
    ],
    ...nodes.map((node) => [
      display.id(node.ID),
      node.NodePool,
      node.Datacenter,
      node.Name,
      node.NodeClass,
      ...when(os === true, node.Attributes?.['os.name'] ?? ''),
      ...when(display.verbose, node.Address, node.Version),
      String(node.Drain),
      node.SchedulingEligibility,
      node.Status,
      ...when(running !== undefined, String(running?.get(node.ID) ?? 0)),
    ]),
  ]);
}
