import { type Job, type Node, resolveTarget, type Spread, type TaskGroup } from '@waybill/model';

/** Target that stands for every value that is not named (SC-121). */
const OTHERS = '*';

/** The number of the group's allocations for each value of a property, including this plan's (SC-130). */
export type UseCounts = (attribute: string) => ReadonlyMap<string, number>;

interface Extremes {
  readonly min: number;
  readonly max: number;
}

interface Wanted {
  readonly attribute: string;
  /** Share of the sum of all weights. */
  readonly share: number;
  /** Wanted allocations by value; empty: spread evenly. */
  readonly desired: ReadonlyMap<string, number>;
}

/**
 * Scores nodes by how they serve the spreads of a job and a group (11.2). One for each group and attempt. Cost:
 * O(values in use) for a placement, then O(spreads) for a node.
 */
export class SpreadScore {
  private readonly wanted: readonly Wanted[];
  private readonly dependsOnOrder: boolean;
  /** Score of a value for which no allocation is wanted (SC-124). */
  private lowest = -1;

  constructor(
    job: Pick<Job, 'Spreads'>,
    group: Pick<TaskGroup, 'Spreads' | 'Count'>,
    private readonly uses: UseCounts,
  ) {
    const spreads = [...(group.Spreads ?? []), ...(job.Spreads ?? [])];
    const weights = spreads.reduce((sum, spread) => sum + spread.Weight, 0);
    this.wanted = spreads.map((spread) => ({
      attribute: spread.Attribute,
      share: weights > 0 ? spread.Weight / weights : 0,
      desired: desiredCounts(spread, group.Count),
    }));
    this.dependsOnOrder = this.wanted.some(({ desired }) => [...desired.values()].includes(0));
  }

  private readonly extremes = new Map<string, Extremes>();

  /** Must be called before every placement, because it changes the counts. */
  refresh(): void {
    this.extremes.clear();
  }

  /**
   * Nodes of one class have the same score between two placements. Undefined: no allocation is wanted for a target,
   * whose score then depends on earlier queries (SC-124).
   */
  classOf(node: Node): string | undefined {
    if (this.wanted.length === 0) return '';
    if (this.dependsOnOrder) return undefined;
    return JSON.stringify(this.wanted.map(({ attribute }) => resolveTarget(attribute, node)));
  }

  /** The sum over all spreads (SC-129); 0 does not contribute. */
  of(node: Node): number {
    let total = 0;
    for (const { attribute, share, desired } of this.wanted) {
      const value = resolveTarget(attribute, node);
      if (value === undefined) total -= 1; // a node without the property is worst (SC-125, SC-126)
      else if (desired.size === 0) total += evenScore(this.uses(attribute), value, () => this.extremesOf(attribute));
      else total += this.targetScore(desired, this.uses(attribute), value, share);
    }
    return total;
  }

  private extremesOf(attribute: string): Extremes {
    let known = this.extremes.get(attribute);
    if (!known) {
      const counts = [...this.uses(attribute).values()];
      known = {
        min: counts.reduce((least, count) => Math.min(least, count), Infinity),
        max: counts.reduce((most, count) => Math.max(most, count), -Infinity),
      };
      this.extremes.set(attribute, known);
    }
    return known;
  }

  /** The score by the share of wanted allocations (SC-122 to SC-124). */
  private targetScore(
    desired: ReadonlyMap<string, number>,
    used: ReadonlyMap<string, number>,
    value: string,
    share: number,
  ): number {
    const target = desired.has(value) ? value : OTHERS;
    const want = desired.get(target);
    if (want === undefined) return -1;
    if (want === 0) return this.lowest;
    const has = target === OTHERS ? usedByOthers(desired, used) : (used.get(value) ?? 0);
    const score = ((want - (has + 1)) / want) * share;
    this.lowest = Math.min(this.lowest, score);
    return score;
  }
}

/** Wanted allocations for each target (SC-121). */
function desiredCounts(spread: Spread, count: number): Map<string, number> {
  const desired = new Map<string, number>();
  let sum = 0;
  for (const { Value, Percent } of spread.SpreadTarget ?? []) {
    const want = (Percent / 100) * count;
    desired.set(Value, want);
    sum += want;
  }
  if (sum > 0 && sum < count && !desired.has(OTHERS)) desired.set(OTHERS, count - sum);
  return desired;
}

function usedByOthers(desired: ReadonlyMap<string, number>, used: ReadonlyMap<string, number>): number {
  let others = 0;
  for (const [value, count] of used) if (!desired.has(value)) others += count;
  return others;
}

/** The score of an even spread (SC-126, SC-127). */
function evenScore(used: ReadonlyMap<string, number>, value: string, extremes: () => Extremes): number {
  if (used.size === 0) return 0;
  const { min, max } = extremes();
  const current = used.get(value) ?? 0;
  if (current !== min) return min === 0 ? -1 : (min - current) / min;
  if (min === max) return -1;
  return min === 0 ? 1 : (max - min) / min;
}
