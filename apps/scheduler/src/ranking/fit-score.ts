import type { Amounts, SchedulerConfiguration } from '@waybill/model';

/** Highest fit score (SC-107); the `binpack` scorer divides by it. */
export const MAX_FIT_SCORE = 18;

/** The fit score: how full (binpack) or how empty (spread) the node would be, limited to 0…18 (SC-107). */
export function fitScore(
  algorithm: SchedulerConfiguration['SchedulerAlgorithm'],
  used: Amounts,
  capacity: Amounts,
): number {
  const total = 10 ** freeShare(used.cpuMhz, capacity.cpuMhz) + 10 ** freeShare(used.memoryMB, capacity.memoryMB);
  const score = algorithm === 'spread' ? total - 2 : 20 - total;
  return Math.min(MAX_FIT_SCORE, Math.max(0, score));
}

function freeShare(used: number, capacity: number): number {
  return capacity > 0 ? 1 - used / capacity : 0;
}
