import { globMatcher, isReadyNode, type Job, type Node } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** Name of the pool that contains all nodes (SC-39). */
const ALL_POOLS = 'all';

/** The nodes of a job's pool and datacenters (SC-37), before feasibility is checked. */
export interface Candidates {
  readonly nodes: Node[];
  /** Number of candidates by datacenter (SC-40). */
  readonly perDatacenter: Record<string, number>;
}

/** The candidates of a job. O(nodes of the pool), once for each attempt. */
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

/** Whether the node is a candidate of the job once it is ready. */
export function mayRunOn(job: Pick<Job, 'NodePool' | 'Datacenters'>, node: Node): boolean {
  const inPool = job.NodePool === '' || job.NodePool === ALL_POOLS || job.NodePool === node.NodePool;
  return inPool && globMatcher(job.Datacenters)(node.Datacenter);
}
