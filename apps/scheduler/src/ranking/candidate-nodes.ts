import { isReadyNode, type Job, type Node } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** The pool that means every pool (SC-39). */
const ALL_POOLS = 'all';

/** The nodes a job may run on at all (SC-37), before anything is asked of them. */
export interface Candidates {
  readonly nodes: Node[];
  /** Datacenter → candidates there (SC-40). */
  readonly perDatacenter: Record<string, number>;
}

/** O(nodes of the pool), once per attempt. */
export function candidatesFor(job: Pick<Job, 'NodePool' | 'Datacenters'>, tables: Tables): Candidates {
  const inDatacenter = datacenterMatcher(job.Datacenters);
  const nodes: Node[] = [];
  const perDatacenter: Record<string, number> = {};
  const everyPool = job.NodePool === '' || job.NodePool === ALL_POOLS;
  for (const node of everyPool ? tables.nodes.all() : tables.nodes.by('pool', job.NodePool)) {
    if (!isReadyNode(node) || !inDatacenter(node.Datacenter)) continue;
    nodes.push(node);
    perDatacenter[node.Datacenter] = (perDatacenter[node.Datacenter] ?? 0) + 1;
  }
  return { nodes, perDatacenter };
}

/** Whether a job would have this node as a candidate once it is ready. */
export function mayRunOn(job: Pick<Job, 'NodePool' | 'Datacenters'>, node: Node): boolean {
  const inPool = job.NodePool === '' || job.NodePool === ALL_POOLS || job.NodePool === node.NodePool;
  return inPool && datacenterMatcher(job.Datacenters)(node.Datacenter);
}

/** SC-38: `*` is any run of characters, everything else is itself. Linear: no pattern can make it slow. */
export function datacenterMatcher(globs: readonly string[]): (datacenter: string) => boolean {
  const parts = globs.map((glob) => glob.split('*'));
  return (datacenter) => parts.some((p) => matches(p, datacenter));
}

function matches(parts: readonly string[], text: string): boolean {
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (parts.length === 1) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
