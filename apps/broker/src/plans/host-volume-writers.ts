import { type Allocation, type Job, type VolumeRequest, volumesAskedBy } from '@waybill/model';

const SINGLE_WRITER = 'single-node-single-writer';

/** Whether allocations of the job may request to be a host volume's only writer. Only such jobs can conflict. */
export function requestsSoleWriter(job: Job | null): boolean {
  return job?.TaskGroups.some(({ Volumes }) => Object.values(Volumes ?? {}).some(isSoleWriter)) ?? false;
}

/**
 * Whether two of these allocations of one node request to be the only writer of the same host volume: each was placed before
 * the other one was known (SC-106). O(requests).
 * @param job the job of allocations that carry none
 */
export function conflictingWriters(allocs: Iterable<Allocation>, job: Job | null): boolean {
  const written = new Set<string>();
  for (const alloc of allocs) {
    const own = alloc.Job ?? (alloc.JobID === job?.ID && alloc.Namespace === job.Namespace ? job : null);
    for (const { request, source } of volumesAskedBy(alloc, own)) {
      if (!isSoleWriter(request)) continue;
      const volume = `${alloc.Namespace}/${source}`;
      if (written.has(volume)) return true;
      written.add(volume);
    }
  }
  return false;
}

const isSoleWriter = ({ Type, AccessMode, ReadOnly }: VolumeRequest): boolean =>
  Type === 'host' && AccessMode === SINGLE_WRITER && !ReadOnly;
