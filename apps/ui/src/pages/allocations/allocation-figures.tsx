import { useQuery } from '@tanstack/react-query';
import type { Allocation } from '../../api/contract.js';
import { allocationUsageQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { CPU, MEMORY, valueOfTask } from '../../components/figures/usage.js';
import { UsageFigures } from '../../components/figures/usage-figures.js';
import { bytesOf } from '../../words/sizes.js';

/** What the tasks of an allocation use, as time goes on, beside what they were given. */
export function AllocationFigures({ alloc }: { readonly alloc: Allocation }) {
  return useMay({ route: 'readUsage', namespace: alloc.Namespace }) === true && <Measured alloc={alloc} />;
}

function Measured({ alloc }: { readonly alloc: Allocation }) {
  const given = Object.entries(alloc.AllocatedResources.Tasks);
  const cpu = given.map(([name, { Cpu }]) => ({ name, value: valueOfTask(CPU, name), most: Cpu.CpuShares }));
  const memory = given.map(([name, { Memory }]) => ({
    name,
    value: valueOfTask(MEMORY, name),
    most: bytesOf(Math.max(Memory.MemoryMB, Memory.MemoryMaxMB)),
  }));
  return <UsageFigures of={useQuery(allocationUsageQuery(alloc.ID))} cpu={cpu} memory={memory} />;
}
