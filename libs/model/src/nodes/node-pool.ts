import { createHash } from 'node:crypto';
import { MAX_DESCRIPTION_CHARS, NODE_POOL_NAME } from '../limits/name-limits.js';

/** A node pool. `NodeIdentityTTL` is in nanoseconds, `Hash` is base64. */
export interface NodePool {
  Name: string;
  Description: string;
  Meta: Record<string, string> | null;
  SchedulerConfiguration: { SchedulerAlgorithm: string; MemoryOversubscriptionEnabled: boolean | null } | null;
  NodeIdentityTTL: number;
  Hash: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/** The members of a pool that a user may set. The servers set the others. */
export type NodePoolSpecification = Omit<NodePool, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** The pool to which every node counts as belonging, although no node names it (ND-180). */
export const ALL_NODES_POOL = 'all';

/** Default of `NodeIdentityTTL`: 24 h, in nanoseconds (ND-188). */
export const DEFAULT_NODE_IDENTITY_TTL_NS = 24 * 3_600e9;

/** `default` and `all` always exist and cannot be deleted or changed. */
export function isBuiltInNodePool(name: string): boolean {
  return name === 'default' || name === ALL_NODES_POOL;
}

/** Returns the problem of a pool's name, or undefined if the name is valid (ND-26, ND-183). */
export function poolNameProblem(name: string): string | undefined {
  return NODE_POOL_NAME.test(name) ? undefined : `invalid name "${name}", must match regex ${NODE_POOL_NAME.source}`;
}

/** Returns the problem of a pool specification, or undefined if it is valid (ND-183, AU-194). */
export function nodePoolProblem(pool: Pick<NodePool, 'Name' | 'Description' | 'NodeIdentityTTL'>): string | undefined {
  const problem = poolNameProblem(pool.Name);
  if (problem !== undefined) return problem;
  if (Array.from(pool.Description).length > MAX_DESCRIPTION_CHARS)
    return `description longer than ${MAX_DESCRIPTION_CHARS} characters`;
  return pool.NodeIdentityTTL < 0 ? 'node identity TTL must not be negative' : undefined;
}

/** Two pools with the same specification have the same hash, whatever the order of their meta. */
export function nodePoolHash(pool: NodePoolSpecification): string {
  const meta = Object.entries(pool.Meta ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const said = [pool.Name, pool.Description, meta, pool.SchedulerConfiguration, pool.NodeIdentityTTL];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64');
}
