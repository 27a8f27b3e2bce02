import { useQuery } from '@tanstack/react-query';
import type { Node } from '../../api/contract.js';
import { nodeUsageQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Figure, STEPS_OF_BYTES } from '../../components/figures/figure.js';
import { Figures } from '../../components/figures/figures.js';
import { CPU, MEMORY } from '../../components/figures/usage.js';
import { bytesInWords, megahertzInWords } from '../../words/sizes.js';

const BYTES_PER_MIB = 1_048_576;

/** What a machine uses, as time goes on: all its processes, not only those of allocations. */
export function MachineFigures({ node }: { readonly node: Node }) {
  return useMay({ route: 'readMachineUsage' }) === true && <Measured node={node} />;
}

function Measured({ node: { ID, NodeResources } }: { readonly node: Node }) {
  const usage = useQuery(nodeUsageQuery(ID));
  const cpu = [{ name: 'in use', value: CPU, most: NodeResources?.Cpu.CpuShares }];
  const memory = [{ name: 'in use', value: MEMORY, most: (NodeResources?.Memory.MemoryMB ?? 0) * BYTES_PER_MIB }];
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
