import { useQuery } from '@tanstack/react-query';
import type { Allocation } from '../../api/contract.js';
import { allocationUsageQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Figure, STEPS_OF_BYTES } from '../../components/figures/figure.js';
import { Figures } from '../../components/figures/figures.js';
import { CPU, MEMORY, valueOfTask } from '../../components/figures/usage.js';
import { bytesInWords, megahertzInWords } from '../../words/sizes.js';

const BYTES_PER_MIB = 1_048_576;

/** What the tasks of an allocation use, as time goes on, beside what they were given. */
export function AllocationFigures({ alloc }: { readonly alloc: Allocation }) {
  return useMay({ route: 'readUsage', namespace: alloc.Namespace }) === true && <Measured alloc={alloc} />;
}

function Measured({ alloc }: { readonly alloc: Allocation }) {
  const usage = useQuery(allocationUsageQuery(alloc.ID));
  const given = Object.entries(alloc.AllocatedResources.Tasks);
  const cpu = given.map(([name, { Cpu }]) => ({ name, value: valueOfTask(CPU, name), most: Cpu.CpuShares }));
  const memory = given.map(([name, { Memory }]) => ({
    name,
    value: valueOfTask(MEMORY, name),
    most: Math.max(Memory.MemoryMB, Memory.MemoryMaxMB) * BYTES_PER_MIB,
  }));
  return (
    <Figures title="Use of resources" of={usage}>
      {(samples) => (
        <>
          <Figure title="CPU" lines={cpu} samples={samples} inWords={megahertzInWords} />
          <Figure title="Memory" lines={memory} samples={samples} inWords={bytesInWords} steps={STEPS_OF_BYTES} />
        </>
      )}
    </Figures>
  );
}
