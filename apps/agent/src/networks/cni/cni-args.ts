import type { Allocation } from '@waybill/model';

/** What plugins are told of an allocation, as CNI wants it, and the names of what cannot be told that way. */
export interface CniArgs {
  readonly args: string;
  readonly leftOut: readonly string[];
}

/** @param given of the group, interpolated; what names the allocation wins over it (NW-58) */
export function cniArgs(alloc: Allocation, region: string, given: unknown): CniArgs {
  const all = Object.entries({
    IgnoreUnknown: 'true',
    ...(given as Readonly<Record<string, string>>),
    NOMAD_REGION: region,
    NOMAD_NAMESPACE: alloc.Namespace,
    NOMAD_JOB_ID: alloc.JobID,
    NOMAD_GROUP_NAME: alloc.TaskGroup,
    NOMAD_ALLOC_ID: alloc.ID,
  });
  const isTellable = ([name, value]: [string, string]): boolean => !`${name}${value}`.includes(';');
  return {
    args: all
      .filter(isTellable)
      .map(([name, value]) => `${name}=${value}`)
      .join(';'),
    leftOut: all.filter((one) => !isTellable(one)).map(([name]) => name),
  };
}
