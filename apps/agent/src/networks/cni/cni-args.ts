import type { Allocation } from '@waybill/model';

/**
 * CniArgs are the arguments of plugins about an allocation in the format of CNI, and the names of those that the format
 * cannot express.
 */
export interface CniArgs {
  readonly args: string;
  readonly leftOut: readonly string[];
}

/**
 * Returns the arguments of an allocation.
 * @param given the group's interpolated arguments; the allocation's own win over them (NW-58)
 */
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
