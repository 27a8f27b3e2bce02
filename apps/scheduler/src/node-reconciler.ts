import {
  findTaskGroup,
  ranSuccessfully,
  type Allocation,
  type DesiredUpdates,
  type Job,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import type { Tables } from '@waybill/state';
import { isExpired, isLive, lostStop, needsReconnect, type TaintedNodes } from './classification.js';
import { noUpdates } from './reconciliation.js';
import { NODE_TAINTED, NOT_NEEDED } from './descriptions.js';
import type { StopOrder } from './plan-draft.js';

/** One allocation wanted on one node. */
export interface NodePlacement {
  readonly node: Node;
  readonly name: string;
  readonly group: TaskGroup;
  readonly previous: Allocation | undefined;
}

export interface NodeReconciliation {
  readonly stops: StopOrder[];
  readonly placements: NodePlacement[];
  /** Allocations of another version of the job on nodes where it still runs. */
  readonly updates: { readonly alloc: Allocation; readonly node: Node; readonly group: TaskGroup }[];
  readonly desired: Record<string, DesiredUpdates>;
}

export interface NodeReconcileInput {
  readonly job: Job | null;
  readonly allocs: readonly Allocation[];
  /** Ready candidates of the job. */
  readonly candidates: readonly Node[];
  readonly tainted: TaintedNodes;
  readonly tables: Tables;
  readonly nowNs: number;
}

/**
 * Compares what a system or sysbatch job wants — one allocation of each group on every feasible node — with what exists
 * (section 18). Pure. Cost: O(candidates × groups + allocations of the job).
 *
 * Not yet: system deployments and canaries, marking allocations of disconnected nodes unknown, sysbatch re-runs after a
 * destructive change of a finished allocation.
 */
export function reconcileNodes(input: NodeReconcileInput): NodeReconciliation {
  const { job, allocs, candidates } = input;
  const out: NodeReconciliation = { stops: [], placements: [], updates: [], desired: {} };
  const wanted = wantedNames(job);
  const candidateIds = new Set(candidates.map((node) => node.ID));
  const live = new Map<string, Allocation>();
  const finished = new Map<string, Allocation>();
  for (const alloc of allocs) {
    const slot = slotOf(alloc.NodeID, alloc.Name);
    if (isLive(alloc)) {
      live.set(slot, alloc);
      decide(alloc, input, wanted, candidateIds, out);
    } else if ((finished.get(slot)?.CreateIndex ?? -1) < alloc.CreateIndex) finished.set(slot, alloc);
  }
  if (!job || job.Stop) return out;
  for (const node of candidates)
    for (const [name, group] of wanted) {
      const slot = slotOf(node.ID, name);
      if (live.has(slot) || input.tainted.has(node.ID)) continue;
      const previous = finished.get(slot);
      // SC-277: what ran of this version is not run again
      if (job.Type === 'sysbatch' && previous?.Job?.JobModifyIndex === job.JobModifyIndex) {
        countsOf(out, group.Name).Ignore++;
        continue;
      }
      out.placements.push({ node, name, group, previous });
      countsOf(out, group.Name).Place++;
    }
  return out;
}

/** SC-274, first match. */
function decide(
  alloc: Allocation,
  input: NodeReconcileInput,
  wanted: ReadonlyMap<string, TaskGroup>,
  candidateIds: ReadonlySet<string>,
  out: NodeReconciliation,
): void {
  const { job, tables, tainted, nowNs } = input;
  const counts = countsOf(out, alloc.TaskGroup);
  const stop = (order: StopOrder): void => {
    out.stops.push(order);
    counts.Stop++;
  };
  const group = wanted.get(alloc.Name);
  if (!job || !group) return stop({ alloc, description: NOT_NEEDED }); // S1
  if (alloc.DesiredTransition.Migrate === true) return stop({ alloc, description: NODE_TAINTED }); // S2
  if (alloc.ClientStatus === 'unknown') {
    if (needsReconnect(alloc) && isExpired(alloc, nowNs)) return stop(lostStop(alloc, nowNs)); // S3
    counts.Ignore++; // S4
    return;
  }
  const taint = tainted.get(alloc.NodeID);
  const down = taint === null || taint?.Status === 'down';
  if (down && !(job.Type === 'sysbatch' && ranSuccessfully(alloc))) return stop(lostStop(alloc, nowNs)); // S6, S8
  if (taint !== undefined) {
    counts.Ignore++; // S9
    return;
  }
  const node = tables.nodes.get(alloc.NodeID);
  const changed = alloc.Job?.JobModifyIndex !== job.JobModifyIndex || alloc.Job.CreateIndex !== job.CreateIndex;
  if (!node || !candidateIds.has(node.ID)) {
    const ready = node?.Status === 'ready' && node.SchedulingEligibility === 'eligible';
    if (ready || changed) return stop({ alloc, description: NOT_NEEDED }); // S11, S12
    counts.Ignore++; // S10
    return;
  }
  if (changed) out.updates.push({ alloc, node, group }); // S13
  else counts.Ignore++; // S14
}

/** SC-271: by the job's name, not its id. */
function wantedNames(job: Job | null): Map<string, TaskGroup> {
  const wanted = new Map<string, TaskGroup>();
  if (!job || job.Stop) return wanted;
  for (const { Name, Count } of job.TaskGroups) {
    const group = findTaskGroup(job, Name);
    for (let i = 0; i < Count && group; i++) wanted.set(`${job.Name}.${Name}[${i}]`, group);
  }
  return wanted;
}

/** Ids of nodes have no slash. */
const slotOf = (nodeId: string, name: string): string => `${nodeId}/${name}`;

export function countsOf(out: Pick<NodeReconciliation, 'desired'>, group: string): DesiredUpdates {
  return (out.desired[group] ??= noUpdates());
}
