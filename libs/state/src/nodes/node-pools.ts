import {
  DEFAULT_NODE_IDENTITY_TTL_NS,
  formatErrors,
  isBuiltInNodePool,
  nodePoolHash,
  type NodePool,
  type NodePoolSpecification,
  Refusal,
} from '@waybill/model';
import type { Appliers } from '../machine/applier.js';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

export const nodePoolAppliers: Appliers<'NodePoolUpsert' | 'NodePoolDelete'> = {
  NodePoolUpsert: upsertNodePools,
  NodePoolDelete: deleteNodePools,
};

/** Type 59: writes node pools. */
function upsertNodePools(w: Write, { NodePools }: TxnPayloads['NodePoolUpsert']): void {
  for (const pool of NodePools) {
    if (isBuiltInNodePool(pool.Name)) throw new Refusal('invalid', `modifying node pool "${pool.Name}" is not allowed`);
    w.put('node_pools', storedPool(w, pool));
  }
}

/**
 * Type 60: deletes node pools, all or none. The state machine checks whether a pool is in use, and not only the
 * proposer: a node or a job may be registered between the check and the write. O(jobs of the pools).
 */
function deleteNodePools(w: Write, { Names }: TxnPayloads['NodePoolDelete'], txn: Txn<'NodePoolDelete'>): void {
  const used = Names.flatMap((name) =>
    usersOf(w, name).map((user) => `node pool "${name}" has ${user} in regions: [${txn.region}]`),
  );
  if (used.length > 0) throw new Refusal('conflict', formatErrors(used));
  for (const name of Names) {
    if (isBuiltInNodePool(name)) throw new Refusal('invalid', `deleting node pool "${name}" is not allowed`);
    if (!w.remove('node_pools', name)) throw new Refusal('not-found', `node pool ${name} not found`);
  }
}

/** Nodes and jobs that prevent the pool's deletion (ND-186). */
function usersOf({ tables }: Write, pool: string): string[] {
  const users: string[] = [];
  for (const job of tables.jobs.by('pool', pool)) {
    if (job.Status === 'dead') continue;
    users.push('non-terminal jobs');
    break;
  }
  for (const _ of tables.nodes.by('pool', pool)) return [...users, 'nodes'];
  return users;
}

/**
 * Creates a pool that has only a name and a description: one of the two that always exist, or that of a node that names
 * it (ND-180, ST-33).
 */
export function createNodePool(w: Write, Name: string, Description = ''): void {
  w.put(
    'node_pools',
    storedPool(w, { Name, Description, Meta: null, SchedulerConfiguration: null, NodeIdentityTTL: 0 }),
  );
}

/** The pool with defaults (ND-188). */
function storedPool(w: Write, given: NodePoolSpecification): NodePool {
  const said: NodePoolSpecification = {
    Name: given.Name,
    Description: given.Description,
    Meta: given.Meta,
    SchedulerConfiguration: given.SchedulerConfiguration,
    NodeIdentityTTL: given.NodeIdentityTTL || DEFAULT_NODE_IDENTITY_TTL_NS,
  };
  const CreateIndex = w.tables.node_pools.get(given.Name)?.CreateIndex ?? w.index;
  return { ...said, Hash: nodePoolHash(said), CreateIndex, ModifyIndex: w.index };
}
