import type { Evaluation } from '@waybill/model';

/**
 * The newest state that the scheduler has worked on, or will work on, for a job (DP-720 to DP-723). A blocked
 * evaluation counts with the snapshot that it was computed from, as its own index is later. O(evaluations given).
 */
export function latestSeenIndex(evaluations: Iterable<Evaluation>): number {
  let latest = 0;
  for (const evaluation of evaluations) latest = Math.max(latest, seenBy(evaluation));
  return latest;
}

function seenBy({ Status, SnapshotIndex, CreateIndex }: Evaluation): number {
  if (Status === 'canceled') return 0;
  if (SnapshotIndex !== 0) return SnapshotIndex;
  return Status === 'pending' ? CreateIndex : 0;
}
