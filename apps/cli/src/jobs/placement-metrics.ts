import type { AllocMetric } from '@waybill/model';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { table } from '../terminal/table.js';

const SCORE_DIGITS = 3;
const SCORE_DECIMALS = 6;

/** Metrics in a response. Any member may be absent. */
export type Metrics = Partial<Omit<AllocMetric, 'Scores'>> & {
  /** Sent by servers that only have a total score for a placement. */
  readonly Scores?: Readonly<Record<string, number>> | null;
};

/** Lists the reasons for a failed placement, one bullet each (CL-221). `red` marks bullets that need the operator. */
export function placementBullets(metrics: Metrics, red: (text: string) => string = (text) => text): string[] {
  const lines: string[] = [];
  if ((metrics.NodesEvaluated ?? 0) === 0) lines.push('* No nodes were eligible for evaluation');
  for (const [dc, n] of sortedEntries(metrics.NodesAvailable))
    if (n === 0) lines.push(`* No nodes are available in datacenter "${dc}"`);
  for (const [name, n] of sortedEntries(metrics.ClassFiltered))
    lines.push(`* Class "${name}": ${n} nodes excluded by filter`);
  for (const [name, n] of sortedEntries(metrics.ConstraintFiltered)) {
    const line = `* Constraint "${name}": ${n} nodes excluded by filter`;
    lines.push(name.includes('missing drivers') ? red(line) : line);
  }
  const exhausted = metrics.NodesExhausted ?? 0;
  if (exhausted > 0) lines.push(`* Resources exhausted on ${exhausted} nodes`);
  for (const [name, n] of sortedEntries(metrics.ClassExhausted))
    lines.push(`* Class "${name}" exhausted on ${n} nodes`);
  for (const [name, n] of sortedEntries(metrics.DimensionExhausted))
    lines.push(`* Dimension "${name}" exhausted on ${n} nodes`);
  for (const name of metrics.QuotaExhausted ?? []) lines.push(`* Quota limit hit "${name}"`);
  return lines;
}

/** Lists the scores of the examined nodes in full (CL-222). Empty without scores. */
export function scoreLines({ ScoreMetaData, Scores }: Metrics): string[] {
  const nodes = ScoreMetaData ?? [];
  if (nodes.length === 0)
    return sortedEntries(Scores).map(([name, score]) => `* Score "${name}" = ${score.toFixed(SCORE_DECIMALS)}`);
  const names = [...new Set(nodes.flatMap((node) => Object.keys(node.Scores ?? {})))].toSorted();
  const rows = nodes.map((node) => [
    node.NodeID,
    ...names.map((name) => significant(node.Scores?.[name] ?? 0)),
    significant(node.NormScore),
  ]);
  return table([['Node', ...names, 'final score'], ...rows]).split('\n');
}

const significant = (score: number): string => String(Number(score.toPrecision(SCORE_DIGITS)));

/** Returns a title such as `Task Group "cache" (failed to place 2 allocations):` (CL-205). */
export function failedGroupTitle(group: string, metrics: Metrics): string {
  const n = (metrics.CoalescedFailures ?? 0) + 1;
  return `Task Group "${group}" (failed to place ${n} allocation${n > 1 ? 's' : ''}):`;
}

/** Returns the groups that could not be placed, sorted by name. */
export function failedGroups(failures: Readonly<Record<string, Metrics>> | null | undefined): [string, Metrics][] {
  return sortedEntries(failures);
}
