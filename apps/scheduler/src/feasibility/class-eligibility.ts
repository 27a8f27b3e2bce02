/** What is known of one class: undefined, not looked at yet. */
export type ClassVerdict = boolean | undefined;

/**
 * Which computed classes of nodes this evaluation's job can run on: spares checks during the attempt, and tells the
 * blocked tracker which changes could help (SC-50 to SC-55). One per attempt. Memory: classes × groups.
 */
export class ClassEligibility {
  private readonly ofJob = new Map<string, boolean>();
  private readonly ofGroup = new Map<string, Map<string, boolean>>();

  constructor(
    private readonly jobEscapes: boolean,
    private readonly escapedGroups: ReadonlySet<string>,
  ) {}

  /** Classes cannot decide: some target differs within a class. */
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
    if (!this.jobEscapes) this.ofJob.set(computedClass, eligible);
  }

  setGroup(group: string, computedClass: string, eligible: boolean): void {
    if (this.escapedGroups.has(group)) return;
    let classes = this.ofGroup.get(group);
    if (!classes) this.ofGroup.set(group, (classes = new Map()));
    classes.set(computedClass, eligible);
  }

  /** SC-36, SC-55: for the blocked evaluation. Empty when escaped. */
  classes(): Record<string, boolean> {
    if (this.escaped) return {};
    const merged = eligibleForAny(this.ofGroup.values());
    for (const [computedClass, eligible] of this.ofJob)
      merged[computedClass] = eligible && (merged[computedClass] ?? true);
    return merged;
  }
}

/** SC-55: over groups, and over versions of a job that are placed in one attempt: what one can run on could help. */
export function eligibleForAny(verdicts: Iterable<Iterable<readonly [string, boolean]>>): Record<string, boolean> {
  const merged: Record<string, boolean> = {};
  for (const classes of verdicts)
    for (const [computedClass, eligible] of classes)
      merged[computedClass] = eligible || (merged[computedClass] ?? false);
  return merged;
}
