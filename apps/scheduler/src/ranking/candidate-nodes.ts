import { globMatcher, isReadyNode, type Job, type Node } from '@waybill/model';
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
  const inDatacenter = globMatcher(job.Datacenters);
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
  return inPool && globMatcher(job.Datacenters)(node.Datacenter);
}
