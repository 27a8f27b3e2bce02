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
 * Takes scored options, one after another, until `limit` of them count, and knows the best (SC-112: the first of equals).
 * The first few with a score of 0 or less are put aside, and count only if nothing else comes (SC-117). Constant memory.
 */
export class LimitedChoice {
  private best = -1;
  private bestScore = -Infinity;
  private taken = 0;
  private readonly aside: { readonly option: number; readonly score: number }[] = [];

  constructor(
    private readonly limit: number,
    private readonly maxSetAside = MAX_SET_ASIDE,
  ) {}

  /** @param option a number of 0 or more that stands for it. @returns whether that was enough */
  offer(option: number, score: number): boolean {
    if (score <= 0 && this.aside.length < this.maxSetAside) {
      this.aside.push({ option, score });
      return false;
    }
    this.take(option, score);
    return this.taken >= this.limit;
  }

  /** No more options: the best of all, -1 if there were none. */
  finish(): number {
    for (const { option, score } of this.aside) {
      if (this.taken >= this.limit) break;
      this.take(option, score);
    }
    return this.best;
  }

  protected take(option: number, score: number): void {
    this.taken++;
    if (score <= this.bestScore && this.best >= 0) return;
    this.best = option;
    this.bestScore = score;
  }
}
