import { type Job, jobInRegion, regionsOf, specChanged } from '@waybill/model';

/** One region's part of a registration. */
export interface RegionPart {
  readonly region: string;
  readonly job: Job;
  /** `JobModifyIndex` of the job that is there; 0: none is. */
  readonly jobModifyIndex: number;
}

export interface RolloutDecision {
  /** In the order of the job; empty: nothing has changed anywhere. */
  readonly parts: readonly RegionPart[];
  /** Regions that had the job and are not listed any more (DP-1113). */
  readonly dropped: readonly string[];
}

/**
 * DP-1104 to DP-1106: whether the regions get a new version, which, and each its own form of the job. A change in one of
 * them deploys all of them anew.
 * @param stored the job as each listed region has it now
 */
export function decideRollout(given: Job, stored: ReadonlyMap<string, Job | null>): RolloutDecision {
  const forms = regionsOf(given).map((region) => ({
    region: region.Name,
    job: jobInRegion(given, region),
    old: stored.get(region.Name) ?? null,
  }));
  const listed = new Set(forms.map(({ region }) => region));
  const before = [...stored.values()].flatMap((job) => (job ? regionsOf(job) : [])).map(({ Name }) => Name);
  const dropped = [...new Set(before)].filter((name) => !listed.has(name)).toSorted();
  if (forms.every(({ job, old }) => old && !old.Stop && !specChanged(old, job))) return { parts: [], dropped };
  const Version = Math.max(-1, ...forms.map(({ old }) => old?.Version ?? -1)) + 1;
  return {
    dropped,
    parts: forms.map(({ region, job, old }) => ({
      region,
      job: { ...job, Version },
      jobModifyIndex: old?.JobModifyIndex ?? 0,
    })),
  };
}
