/** Eligibility of one class; undefined: not checked yet. */
export type ClassVerdict = boolean | undefined;

/**
 * The computed node classes on which this evaluation's job can run: saves checks during the attempt, and tells the
 * blocked tracker which changes could help (SC-50 to SC-55). One for each attempt. Memory: classes × groups.
 */
export class ClassEligibility {
  private readonly ofJob = new Map<string, boolean>();
  private readonly ofGroup = new Map<string, Map<string, boolean>>();

  constructor(
    private readonly jobEscapes: boolean,
    private readonly escapedGroups: ReadonlySet<string>,
  ) {}

  /** Whether classes cannot decide, because nodes of one class differ in a target. */
  get escaped(): boolean {
    return this.jobEscapes || this.escapedGroups.size > 0;
  }

  jobVerdict(computedClass: string): ClassVerdict {
    return this.jobEscapes ? undefined : this.ofJob.get(computedClass);
  }

  groupVerdict(group: string, computedClass: string): ClassVerdict {
    return this.escapedGroups.has(group) ? undefined : this.ofGroup.get(group)?.get(computedClass);
  }

  setJob(computedClass: string, eligible: boolean): void {
    this.ofJob.set(computedClass, eligible);
  }

  setGroup(group: string, computedClass: string, eligible: boolean): void {
    let classes = this.ofGroup.get(group);
    if (!classes) this.ofGroup.set(group, (classes = new Map()));
    classes.set(computedClass, eligible);
  }

  /** Eligibility by class, for the blocked evaluation; empty if it escaped (SC-36, SC-55). */
  classes(): Record<string, boolean> {
    if (this.escaped) return {};
    const merged = eligibleForAny(this.ofGroup.values());
    for (const [computedClass, eligible] of this.ofJob)
      merged[computedClass] = eligible && (merged[computedClass] ?? true);
    return merged;
  }
}

/**
 * Eligibility over groups, and over the versions of a job that are placed in one attempt: a class is eligible if any of
 * them can run on it (SC-55).
 */
export function eligibleForAny(verdicts: Iterable<Iterable<readonly [string, boolean]>>): Record<string, boolean> {
  const merged: Record<string, boolean> = {};
  for (const classes of verdicts)
    for (const [computedClass, eligible] of classes)
      merged[computedClass] = eligible || (merged[computedClass] ?? false);
  return merged;
}
