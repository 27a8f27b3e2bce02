import type { TaskEvent } from '@waybill/model';

interface Seen {
  readonly count: number;
  /** Of the newest event looked at, unix ns. */
  readonly untilNs: number;
}

/**
 * How often tasks were killed because they took too much memory. A task's state keeps its last ten events, so what is new
 * in them is counted at every look; of a task that lives and dies faster than that, some are missed. Memory: two numbers
 * per task of the last look.
 */
export class OomKills {
  private seen = new Map<string, Seen>();

  /** @param tasks all that there are, by a name that is theirs alone @returns the counts, by the same names */
  countNew(tasks: ReadonlyMap<string, readonly TaskEvent[]>): ReadonlyMap<string, number> {
    const before = this.seen;
    this.seen = new Map([...tasks].map(([key, events]) => [key, counted(events, before.get(key))]));
    return new Map([...this.seen].map(([key, { count }]) => [key, count]));
  }
}

function counted(events: readonly TaskEvent[], before: Seen = { count: 0, untilNs: 0 }): Seen {
  const fresh = events.filter(({ Time }) => Time > before.untilNs);
  const kills = fresh.filter(({ Type, Details }) => Type === 'Terminated' && Details['oom_killed'] === 'true');
  return { count: before.count + kills.length, untilNs: fresh.at(-1)?.Time ?? before.untilNs };
}
