import type { FinalJob, FinalState, History, Read, TaskLine, Write } from './history.js';
import { losses } from './losses.js';

/** Something that must not be, in words. */
export interface Finding {
  readonly kind: 'lost' | 'double' | 'order' | 'leftover' | 'unnamed';
  readonly text: string;
}

/**
 * What was promised and did not hold, from outside: acknowledgements, what was read, the lines that tasks have written,
 * and what there is in the end. Every job has one writer, so its history is linearizable exactly when its acknowledged
 * writes have rising indexes and what is read or left is the last of them, or a write behind it of which nobody knows how
 * it ended. Pure. O(history).
 */
export function judge(all: History, final: FinalState): Finding[] {
  const jobs = new Map(final.jobs.map((job) => [job.id, job]));
  const { history, findings } = losses(all, final);
  return [
    ...findings,
    ...[...byJob(all.writes)].flatMap(([id, writes]) => indexesThatFall(id, writes)),
    ...[...byJob(history.writes)].flatMap(([id, writes]) => lostWrites(id, writes, jobs.get(id))),
    ...betweenCuts(history).flatMap((reads) => readsThatGoBack({ ...history, reads })),
    ...dispatchesDoneTwice(history, final),
    ...final.jobs.flatMap((job) => tasksOf(job, history.lines, final.living)),
    ...processesOfNobody(history.lines, final),
  ];
}

function byJob(writes: readonly Write[]): Map<string, Write[]> {
  const of = new Map<string, Write[]>();
  for (const write of writes) of.set(write.job, [...(of.get(write.job) ?? []), write]);
  return of;
}

/** The last acknowledged write, and those behind it that may have been done. */
function possibleLast(writes: readonly Write[]): Write[] {
  const last = writes.findLastIndex(({ ending }) => ending === 'acknowledged');
  // A write that nobody has heard of again may also come late.
  const unknown = writes.filter(({ ending }) => ending === 'unknown');
  return last < 0 ? unknown : [writes[last]!, ...unknown];
}

function lostWrites(id: string, writes: readonly Write[], job: FinalJob | undefined): Finding[] {
  const possible = possibleLast(writes);
  const isAcknowledged = writes.some(({ ending }) => ending === 'acknowledged');
  if (!job) return isAcknowledged ? [{ kind: 'lost', text: `job ${id} was acknowledged and is not there` }] : [];
  const fits = possible.some(({ verb, mark }) => (verb === 'stop' ? job.stopped : !job.stopped && job.mark === mark));
  // A stop leaves the mark of what it stopped.
  if (fits) return [];
  const wanted = possible.map(({ verb, mark }) => `${verb} ${mark}`).join(' or ');
  return [{ kind: 'lost', text: `job ${id} should be ${wanted} and is ${job.stopped ? 'stopped' : job.mark}` }];
}

function indexesThatFall(id: string, writes: readonly Write[]): Finding[] {
  const indexes = writes.flatMap(({ modifyIndex }) => modifyIndex ?? []);
  return indexes
    .slice(1)
    .flatMap((index, at): Finding[] =>
      index > indexes[at]! ? [] : [{ kind: 'order', text: `job ${id}: index ${index} after ${indexes[at]}` }],
    );
}

/** Reads from one decision to the next cut: what a cut takes goes back, and while it is decided nobody promises anything. */
function betweenCuts({ reads, cuts }: History): Read[][] {
  const parts: Read[][] = Array.from({ length: cuts.length + 1 }, () => []);
  for (const read of reads) {
    const { atMs = 0 } = read;
    if (cuts.some(({ syncedMs, cutMs, decidedMs }) => atMs >= Math.min(syncedMs, cutMs) && atMs <= decidedMs)) continue;
    parts[cuts.filter(({ decidedMs }) => decidedMs < atMs).length]?.push(read);
  }
  return parts;
}

/** One reader, one API: the index of a job never falls, and a mark only to a write of which nobody knew how it ended. */
function readsThatGoBack({ reads, writes }: History): Finding[] {
  const unknown = new Set(writes.filter(({ ending }) => ending === 'unknown').map(({ job, mark }) => `${job} ${mark}`));
  const seen = new Map<string, number>();
  const indexes = new Map<string, number>();
  const found: Finding[] = [];
  for (const read of reads) {
    const index = indexes.get(read.job) ?? 0;
    if (read.mark !== undefined) {
      if (read.index < index)
        found.push({ kind: 'order', text: `job ${read.job} was read at index ${read.index} after ${index}` });
      indexes.set(read.job, Math.max(index, read.index));
    }
    const before = seen.get(read.job);
    if (before !== undefined && read.mark === undefined)
      found.push({ kind: 'lost', text: `job ${read.job} was read, and then was not there` });
    if (read.mark === undefined) continue;
    if (before !== undefined && read.mark < before && !unknown.has(`${read.job} ${read.mark}`))
      found.push({ kind: 'lost', text: `job ${read.job}: ${read.mark} was read after ${before}` });
    seen.set(read.job, read.mark);
  }
  return found;
}

function dispatchesDoneTwice({ dispatches }: History, { children }: FinalState): Finding[] {
  return dispatches.flatMap(({ token, child }): Finding[] => {
    const made = children[token] ?? [];
    if (made.length > 1) return [{ kind: 'double', text: `token ${token} made ${made.join(' and ')}` }];
    return made[0] === child ? [] : [{ kind: 'lost', text: `${child} was acknowledged and is not there` }];
  });
}

/** Batch work is begun once for each place; of a service as many processes live as it wants, each of an allocation of its own. */
function tasksOf(job: FinalJob, all: readonly TaskLine[], living: ReadonlySet<number>): Finding[] {
  const lines = all.filter((line) => line.job === job.id);
  if (job.isBatch) {
    const begun = lines.filter(({ what }) => what === 'begun');
    const ended = new Set(lines.filter(({ what }) => what === 'ended').map(({ pid }) => pid));
    const lost = job.allocs.filter(
      ({ client, wasGivenUp }) => wasGivenUp || client === 'lost' || client === 'unknown',
    ).length;
    const cut = begun.filter(({ pid }) => !ended.has(pid)).length;
    if (begun.length > job.count + lost)
      return [{ kind: 'double', text: `job ${job.id} was begun ${begun.length} times instead of ${job.count}` }];
    if (begun.length < job.count)
      return [{ kind: 'lost', text: `job ${job.id} was begun ${begun.length} times only${failuresOf(job)}` }];
    return cut > lost ? [{ kind: 'lost', text: `job ${job.id} did not come to its end` }] : [];
  }
  const wanted = job.stopped ? 0 : job.count;
  const live = lines.filter(({ pid, what }) => what === 'begun' && living.has(pid));
  if (live.length > wanted)
    return [{ kind: 'double', text: `job ${job.id}: ${live.length} live instead of ${wanted}` }];
  if (live.length < wanted) return [{ kind: 'lost', text: `job ${job.id}: ${live.length} live instead of ${wanted}` }];
  const running = new Set(job.allocs.filter(({ client }) => client === 'running').map(({ id }) => id));
  return live
    .filter(({ alloc }) => !running.has(alloc))
    .map(({ alloc }) => ({ kind: 'leftover', text: `${job.id}: a process of ${alloc}, which does not run` }));
}

/** What its allocations say of their failures, each text once. */
function failuresOf({ allocs }: FinalJob): string {
  const texts = new Set(allocs.flatMap(({ failure }) => failure ?? []));
  return texts.size === 0 ? '' : `: ${[...texts].join('; ')}`;
}

function processesOfNobody(lines: readonly TaskLine[], { jobs, living }: FinalState): Finding[] {
  const known = new Set(jobs.map(({ id }) => id));
  return lines
    .filter(({ job, pid, what }) => what === 'begun' && living.has(pid) && !known.has(job))
    .map(({ job, pid }) => ({ kind: 'leftover', text: `process ${pid} of job ${job}, which is not there` }));
}
