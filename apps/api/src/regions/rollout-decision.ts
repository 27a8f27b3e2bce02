import { type Job, jobInRegion, regionsOf, specChanged } from '@waybill/model';

/** RegionPart is one region's part of a registration. */
export interface RegionPart {
  readonly region: string;
  readonly job: Job;
  /** The `JobModifyIndex` of the region's job; 0 if it has none. */
  readonly jobModifyIndex: number;
}

/**
 * Decides whether the regions get a new version, its number, and each region's form of the job (DP-1104 to DP-1106). A
 * change in one region deploys all regions anew.
 * @param stored the current job of each listed region
 * @returns the parts in the order of the job; empty if nothing has changed anywhere
 */
export function decideRollout(given: Job, stored: ReadonlyMap<string, Job | null>): readonly RegionPart[] {
  const forms = regionsOf(given).map((region) => ({
    region: region.Name,
    job: jobInRegion(given, region),
    old: stored.get(region.Name) ?? null,
  }));
  if (forms.every(({ job, old }) => old && !old.Stop && !specChanged(old, job))) return [];
  const Version = Math.max(-1, ...forms.map(({ old }) => old?.Version ?? -1)) + 1;
  return forms.map(({ region, job, old }) => ({
    region,
    job: { ...job, Version },
    jobModifyIndex: old?.JobModifyIndex ?? 0,
  }));
}
