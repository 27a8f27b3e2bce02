import { asService, type Author, type TransactionWriter } from '@waybill/writing';
import {
  type Allocation,
  type Evaluation,
  globMatcher,
  isClientTerminal,
  isServerTerminal,
  type Job,
  newEvaluation,
  type Node,
} from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { namespacedKey, type Tables } from '@waybill/state';
import { uuidOfText } from '../identities/uuid-of-name.js';

/** The request ID of a node's evaluations after the transaction at `index`: a second copy is skipped (ND-73). */
export const nodeEvaluationsRequestId = (nodeId: string, index: number): string => `node-evals:${nodeId}:${index}`;

export interface CreatedEvaluations {
  readonly EvalIDs: readonly string[];
  /** 0 if none were created (ND-103). */
  readonly EvalCreateIndex: number;
}

/** A node, or only the ID of a deleted one, for which no system job can be. */
export type EvaluatedNode = Pick<Node, 'ID' | 'NodePool' | 'Datacenter'> | { readonly ID: string };

/** The cause of evaluations of a node. */
export interface NodeEvaluationsOrigin {
  /** Index of the transaction that changed the node. */
  readonly nodeIndex: number;
  readonly nowNs: number;
  /** The request that wants them; default: that of the transaction. */
  readonly requestId?: string | undefined;
}

/**
 * The evaluations of one node after its transaction at `nodeIndex` (ND-97 to ND-102). Their IDs are derived from the
 * request and the job, so that every writer writes the same ones (ND-73). Cost: O(the node's allocations, and all
 * jobs), because system jobs are found by their type only.
 */
export function evaluationsOfNode(
  tables: Tables,
  node: EvaluatedNode,
  { nodeIndex, nowNs, requestId = nodeEvaluationsRequestId(node.ID, nodeIndex) }: NodeEvaluationsOrigin,
): Evaluation[] {
  const jobs = new Map<string, Job>();
  for (const alloc of tables.allocs.by('node', node.ID)) {
    const job = jobOf(tables, alloc);
    if (job && countsForNode(alloc, job)) jobs.set(namespacedKey(job.Namespace, job.ID), job);
  }
  if ('NodePool' in node)
    for (const job of tables.jobs.all())
      if (job.Type === 'system' && !job.Stop && isForNode(job, node))
        jobs.set(namespacedKey(job.Namespace, job.ID), job);
  return [...jobs].map(([key, job]) =>
    newEvaluation({
      ID: uuidOfText(`${requestId} ${key}`),
      Namespace: job.Namespace,
      Priority: job.Priority,
      Type: job.Type,
      TriggeredBy: 'node-update',
      JobID: job.ID,
      NodeID: node.ID,
      NodeModifyIndex: nodeIndex,
      CreateTime: nowNs,
    }),
  );
}

/** Whether the allocation's job must be evaluated when its node changes (ND-98). */
function countsForNode(alloc: Allocation, job: Job): boolean {
  switch (job.Type) {
    case 'service':
      return !(isServerTerminal(alloc) && isClientTerminal(alloc));
    case 'batch':
      return !isClientTerminal(alloc);
    default:
      return false;
  }
}

/** The allocation's own copy of its job, or the stored job if its row has none (ND-102). */
export function jobOf(tables: Tables, alloc: Allocation): Job | undefined {
  return alloc.Job ?? tables.jobs.get(namespacedKey(alloc.Namespace, alloc.JobID));
}

/** Whether the job may run on the node: its pool and one of its datacenter patterns match (ND-97). */
export function isForNode(
  job: Pick<Job, 'NodePool' | 'Datacenters'>,
  node: Pick<Node, 'NodePool' | 'Datacenter'>,
): boolean {
  if (job.NodePool !== 'all' && job.NodePool !== node.NodePool) return false;
  return globMatcher(job.Datacenters)(node.Datacenter);
}

/**
 * Writes a node's evaluations to the log. Stateless. Cost of one call: see `evaluationsOfNode`, and one transaction.
 */
export class NodeEvaluations {
  constructor(
    private readonly state: ReplicatedState,
    private readonly writer: TransactionWriter,
  ) {}

  /**
   * @param node after its transaction at `nodeIndex`, or before it if it was deleted
   * @throws any error of the log; the holder creates the missing evaluations later (ND-73)
   */
  create(node: EvaluatedNode, nodeIndex: number, traceparent?: string): Promise<CreatedEvaluations> {
    const requestId = nodeEvaluationsRequestId(node.ID, nodeIndex);
    return this.write(node, nodeIndex, { ...asService('nodes', traceparent), requestId });
  }

  /** Creates evaluations again, at a user's request (ND-24); only a repetition of the same request creates none. */
  createAgain(node: Node, asked: Author): Promise<CreatedEvaluations> {
    return this.write(node, node.ModifyIndex, asked);
  }

  private async write(node: EvaluatedNode, nodeIndex: number, author: Author): Promise<CreatedEvaluations> {
    const evals = evaluationsOfNode(this.state.tables, node, {
      nodeIndex,
      nowNs: this.writer.nowNs(),
      requestId: author.requestId,
    });
    if (evals.length === 0) return { EvalIDs: [], EvalCreateIndex: 0 };
    const { index } = await this.writer.write({ type: 'EvalUpdate', payload: { Evals: evals } }, author);
    // If another copy was written first, its evaluations are the existing ones (ND-73).
    const stored = evals.flatMap((e) => this.state.tables.evals.get(e.ID) ?? []);
    return { EvalIDs: stored.map((e) => e.ID), EvalCreateIndex: stored[0]?.CreateIndex ?? index };
  }
}
