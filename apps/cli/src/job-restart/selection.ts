import type { AllocListStub } from '@waybill/model';
import type { BatchSize, RestartOptions } from './options.js';

/** The members of a job version that are used. Any member may be missing (JR-E01). */
export interface JobVersion {
  readonly Version?: number | null;
  readonly Type?: string | null;
  readonly TaskGroups?:
    | readonly {
        readonly Name?: string | null;
        readonly Tasks?: readonly { readonly Name?: string | null }[] | null;
      }[]
    | null;
}

/** The members of an allocation in a list that are used. */
export type ListedAllocation = Pick<
  AllocListStub,
  'ID' | 'JobVersion' | 'TaskGroup' | 'DesiredStatus' | 'ClientStatus' | 'CreateIndex'
> &
  Partial<Pick<AllocListStub, 'JobType' | 'TaskStates' | 'NextAllocation'>>;

/** An allocation with its version of the job. The version is undefined if the server no longer keeps it. */
export interface Candidate {
  readonly alloc: ListedAllocation;
  readonly job: JobVersion | undefined;
}

/** The allocations to restart, newest first, and the reasons why the others are skipped. */
export interface Selection {
  readonly eligible: readonly Candidate[];
  readonly skipped: readonly { readonly alloc: ListedAllocation; readonly because: SkipReason }[];
}

export type SkipReason = 'not-running' | 'replaced' | 'other-group' | 'no-such-task';

/** Selects the allocations to restart (JR-301 to JR-306, JR-309). The first filter that applies decides. */
export function selectAllocations(
  allocs: readonly ListedAllocation[],
  versions: readonly JobVersion[],
  options: Pick<RestartOptions, 'groups' | 'tasks'>,
): Selection {
  const byVersion = new Map(versions.map((job) => [job.Version, job]));
  const eligible: Candidate[] = [];
  const skipped: { alloc: ListedAllocation; because: SkipReason }[] = [];
  for (const alloc of allocs.toSorted((a, b) => b.CreateIndex - a.CreateIndex)) {
    const candidate: Candidate = { alloc, job: byVersion.get(alloc.JobVersion) };
    const because = skipReason(candidate, options);
    if (because === undefined) eligible.push(candidate);
    else skipped.push({ alloc, because });
  }
  return { eligible, skipped };
}

function skipReason(
  candidate: Candidate,
  { groups, tasks }: Pick<RestartOptions, 'groups' | 'tasks'>,
): SkipReason | undefined {
  const { alloc } = candidate;
  if (alloc.ClientStatus !== 'running' && alloc.DesiredStatus !== 'run') return 'not-running';
  if (alloc.NextAllocation) return 'replaced';
  if (groups.size > 0 && !groups.has(alloc.TaskGroup)) return 'other-group';
  if (tasks.size > 0 && tasksToRestart(candidate, tasks).length === 0) return 'no-such-task';
  return undefined;
}

/** Returns the wanted tasks of an allocation: those that it reports or that its version of the job has (JR-305). */
export function tasksToRestart({ alloc, job }: Candidate, wanted: ReadonlySet<string>): string[] {
  const group = job?.TaskGroups?.find(({ Name }) => Name === alloc.TaskGroup);
  const has = (task: string) =>
    Object.hasOwn(alloc.TaskStates ?? {}, task) || (group?.Tasks ?? []).some(({ Name }) => Name === task);
  return [...wanted].filter(has);
}

/**
 * Whether the allocation belongs to a system job (JR-604), by its version of the job, otherwise by the list, otherwise
 * by the present job.
 */
export function isSystemAllocation({ alloc, job }: Candidate, typeNow: string | null | undefined): boolean {
  const type = [job?.Type, alloc.JobType, typeNow].find(
    (known) => known !== null && known !== undefined && known !== '',
  );
  return type === 'system';
}

/** Computes the batch size; a percentage of the eligible allocations is rounded up (JR-401, JR-402). */
export function allocationsPerBatch(size: BatchSize, eligible: number): number {
  return 'count' in size ? size.count : Math.ceil((eligible * size.percent) / 100);
}

export function batchesOf<T>(items: readonly T[], perBatch: number): T[][] {
  const batches: T[][] = [];
  for (let from = 0; from < items.length; from += perBatch) batches.push(items.slice(from, from + perBatch));
  return batches;
}
