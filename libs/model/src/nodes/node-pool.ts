import { createHash } from 'node:crypto';
import { MAX_DESCRIPTION_CHARS, NODE_POOL_NAME } from '../limits/name-limits.js';

/** `NodeIdentityTTL` in nanoseconds; `Hash` base64. */
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

/** What a user says of a pool; the rest the servers know. */
export type NodePoolSpecification = Omit<NodePool, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** The pool in which every node counts as being, without any being in it (ND-180). */
export const ALL_NODES_POOL = 'all';

/** ND-188: 24 h, in nanoseconds. */
export const DEFAULT_NODE_IDENTITY_TTL_NS = 24 * 3_600e9;

/** `default` and `all` always exist and cannot be deleted or changed. */
export function isBuiltInNodePool(name: string): boolean {
  return name === 'default' || name === ALL_NODES_POOL;
}

/** Why no pool can be called so; undefined: one can (ND-26, ND-183). */
export function poolNameProblem(name: string): string | undefined {
  return NODE_POOL_NAME.test(name) ? undefined : `invalid name "${name}", must match regex ${NODE_POOL_NAME.source}`;
}

/** ND-183: what is wrong with a pool as given; undefined: nothing. */
export function nodePoolProblem(pool: Pick<NodePool, 'Name' | 'Description'>): string | undefined {
  const problem = poolNameProblem(pool.Name);
  if (problem !== undefined) return problem;
  if (Array.from(pool.Description).length <= MAX_DESCRIPTION_CHARS) return undefined;
  return `description longer than ${MAX_DESCRIPTION_CHARS} characters`;
}

/** Equal for pools that say the same, whatever the order of their meta. */
export function nodePoolHash(pool: NodePoolSpecification): string {
  const meta = Object.entries(pool.Meta ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const said = [pool.Name, pool.Description, meta, pool.SchedulerConfiguration, pool.NodeIdentityTTL];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64');
}
