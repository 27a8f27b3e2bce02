/** Least number of fitting nodes that are compared (SC-115). */
export const MIN_CANDIDATE_LIMIT = 2;
/** With affinities or spreads, where the configuration says 0 (SC-116). */
export const DEFAULT_SPREAD_LIMIT = 100;
/** Nodes with a score of 0 or less that are put aside while better ones may come (SC-117). */
export const MAX_SET_ASIDE = 3;

/** SC-115: nodes that are compared for one placement without affinities or spreads. */
export function candidateLimit(jobType: string, candidates: number): number {
  if (jobType !== 'service') return MIN_CANDIDATE_LIMIT;
  return Math.max(MIN_CANDIDATE_LIMIT, Math.ceil(Math.log2(Math.max(1, candidates))));
}

/** SC-116. */
export function spreadLimit(count: number, configured: number): number {
  return Math.max(count, configured || DEFAULT_SPREAD_LIMIT);
}

/**
 * Takes scored options until `limit` of them were given on. The first few with a score of 0 or less are put aside, and
 * given on only if the stream ends before (SC-117).
 */
export function* upToLimit<T>(
  options: Iterable<T>,
  scoreOf: (option: T) => number,
  limit: number,
  maxSetAside = MAX_SET_ASIDE,
): IterableIterator<T> {
  const setAside: T[] = [];
  let given = 0;
  for (const option of options) {
    if (scoreOf(option) <= 0 && setAside.length < maxSetAside) {
      setAside.push(option);
      continue;
    }
    yield option;
    if (++given >= limit) return;
  }
  yield* setAside.slice(0, limit - given);
}
