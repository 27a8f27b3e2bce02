import { useQuery } from '@tanstack/react-query';
import type { Node } from '../../api/contract.js';
import { nodeUsageQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { CPU, MEMORY } from '../../components/figures/usage.js';
import { UsageFigures } from '../../components/figures/usage-figures.js';
import { bytesOf } from '../../words/sizes.js';

/** What a machine uses, as time goes on: all its processes, not only those of allocations. */
export function MachineFigures({ node }: { readonly node: Node }) {
  return useMay({ route: 'readMachineUsage' }) === true && <Measured node={node} />;
}

function Measured({ node: { ID, NodeResources } }: { readonly node: Node }) {
  const cpu = [{ name: 'in use', value: CPU, most: NodeResources?.Cpu.CpuShares }];
  const memory = [{ name: 'in use', value: MEMORY, most: bytesOf(NodeResources?.Memory.MemoryMB ?? 0) }];
  return <UsageFigures of={useQuery(nodeUsageQuery(ID))} cpu={cpu} memory={memory} />;
}
