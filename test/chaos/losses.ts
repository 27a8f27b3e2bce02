import type { Asked, FinalState, History, PowerCut, TaskLine } from './history.js';
import type { Finding } from './judge.js';

/** What was acknowledged, in one form for writes and dispatches. */
interface Promised {
  readonly job: string;
  /** Of a registration that can be told from others. */
  readonly mark?: number;
  readonly index: number;
  readonly asked: Asked;
}

/**
 * What power cuts took of what was acknowledged. A cut may take what was acknowledged after the last sync and asked for
 * before the power went, and Waybill has to name it; it must not name what is still there. A registration is there if the log
 * has one with its mark, wherever: what was tried twice is answered with an index of either. A stop and a dispatch are there
 * if the log has a transaction about the job at the index, for no index is given out twice.
 * Returns the history without what was rightly lost, and what must not be. Pure. O(history × cuts).
 */
export function losses(history: History, final: FinalState): { history: History; findings: Finding[] } {
  const { cuts } = history;
  if (cuts.length === 0) return { history, findings: [] };
  const findings: Finding[] = [];
  const gone = new Set<string>();
  const named = new Set(cuts.flatMap((cut) => cut.named));
  for (const promised of promisedIn(history)) {
    const { job, index, asked } = promised;
    if (isLogged(promised, final)) {
      if (named.has(index) && final.logged.get(index)?.job === job)
        findings.push({ kind: 'unnamed', text: `job ${job}: index ${index} was named lost and is there` });
      continue;
    }
    const cut = cuts.find((one) => mayTake(one, asked));
    if (!cut) findings.push({ kind: 'lost', text: `job ${job}: index ${index} was acknowledged, synced, and is gone` });
    else if (!cut.named.includes(index))
      findings.push({ kind: 'unnamed', text: `job ${job}: index ${index} is lost, and was not named` });
    gone.add(`${job} ${index}`);
  }
  const isThere = (job: string, index: number | undefined): boolean => !gone.has(`${job} ${index ?? ''}`);
  const rest: History = {
    ...history,
    writes: history.writes.filter(({ job, modifyIndex }) => isThere(job, modifyIndex)),
    dispatches: history.dispatches.filter(({ child, index }) => isThere(child, index)),
    lines: linesThatCount(history, final),
  };
  return { history: rest, findings };
}

/** How many acknowledged writes and dispatches are not in the log any more. */
export const countLost = (history: History, final: FinalState): number =>
  promisedIn(history).filter((promised) => !isLogged(promised, final)).length;

function isLogged({ job, mark, index }: Promised, { logged }: FinalState): boolean {
  if (mark === undefined) return logged.get(index)?.job === job;
  for (const one of logged.values()) if (one.job === job && one.mark === mark) return true;
  return false;
}

function promisedIn({ writes, dispatches }: History): Promised[] {
  return [
    ...writes.flatMap(({ job, verb, mark, ending, modifyIndex, asked }) =>
      ending === 'acknowledged' && modifyIndex !== undefined && asked
        ? [{ job, index: modifyIndex, asked, ...(verb === 'register' && { mark }) }]
        : [],
    ),
    ...dispatches.flatMap(({ child, index, asked }) =>
      index !== undefined && asked ? [{ job: child, index, asked }] : [],
    ),
  ];
}

const mayTake = ({ syncedMs, cutMs }: PowerCut, { sentMs, answeredMs }: Asked): boolean =>
  answeredMs >= syncedMs && sentMs <= cutMs;

/**
 * Without what machines began by order of placements that were lost: of allocations that nobody knows any more, within
 * a cut. Processes that live count in any case.
 */
function linesThatCount({ lines, cuts }: History, { jobs, living }: FinalState): readonly TaskLine[] {
  const known = new Set(jobs.flatMap(({ allocs }) => allocs.map(({ id }) => id)));
  const begunInCut = new Set(
    cuts.flatMap(({ lines: { from, to } }) =>
      lines.slice(from, to).flatMap(({ alloc, what }) => (what === 'begun' && !known.has(alloc) ? [alloc] : [])),
    ),
  );
  return lines.filter(({ alloc, pid }) => living.has(pid) || !begunInCut.has(alloc));
}
