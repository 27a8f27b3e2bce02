/** Smallest number of fitting nodes that are compared (SC-115). */
export const MIN_CANDIDATE_LIMIT = 2;
/** Limit with affinities or spreads, if the configuration has 0 (SC-116). */
export const DEFAULT_SPREAD_LIMIT = 100;
/** Nodes with a score of 0 or less that are set aside while better ones may follow (SC-117). */
export const MAX_SET_ASIDE = 3;

/** Number of nodes that are compared for one placement without affinities or spreads (SC-115). */
export function candidateLimit(jobType: string, candidates: number): number {
  if (jobType !== 'service') return MIN_CANDIDATE_LIMIT;
  return Math.max(MIN_CANDIDATE_LIMIT, Math.ceil(Math.log2(candidates)));
}

/** Number of nodes that are compared with affinities or spreads (SC-116). */
export function spreadLimit(count: number, configured: number): number {
  return Math.max(count, configured || DEFAULT_SPREAD_LIMIT);
}

/**
 * Takes scored options one after another until `limit` of them count, and keeps the best (SC-112: the first of equals).
 * The first few with a score of 0 or less are set aside, and count only if there are no others (SC-117). Constant
 * memory.
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

  /**
   * @param option identifies the option, 0 or more
   * @returns whether enough options count
   */
  offer(option: number, score: number): boolean {
    if (score <= 0 && this.aside.length < this.maxSetAside) {
      this.aside.push({ option, score });
      return false;
    }
    this.accept(option, score);
    return this.taken >= this.limit;
  }

  /** Ends the choice. @returns the best option, -1 if there was none */
  finish(): number {
    for (const { option, score } of this.aside) {
      if (this.taken >= this.limit) break;
      this.accept(option, score);
    }
    return this.best;
  }

  protected accept(option: number, score: number): void {
    this.taken++;
    if (score <= this.bestScore && this.best >= 0) return;
    this.best = option;
    this.bestScore = score;
  }
}
