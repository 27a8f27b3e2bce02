import type { TaskEvent } from '@waybill/model';

interface Seen {
  readonly count: number;
  /** The time of the newest event that was counted, in Unix nanoseconds. */
  readonly untilNs: number;
}

/**
 * OomKills counts how often tasks were killed because they used too much memory. A task's state keeps only its last ten
 * events, so each measurement adds the new ones. It misses kills of a task that restarts more than that between two
 * measurements. Memory: two numbers per task of the last measurement.
 */
export class OomKills {
  private seen = new Map<string, Seen>();

  /**
   * Adds the new kills and returns the counts per task.
   * @param tasks the events of all tasks, by a unique name
   * @returns the counts, by the same names
   */
  countNew(tasks: ReadonlyMap<string, readonly TaskEvent[]>): ReadonlyMap<string, number> {
    const before = this.seen;
    this.seen = new Map([...tasks].map(([key, events]) => [key, countKills(events, before.get(key))]));
    return new Map([...this.seen].map(([key, { count }]) => [key, count]));
  }
}

function countKills(events: readonly TaskEvent[], before: Seen = { count: 0, untilNs: 0 }): Seen {
  const fresh = events.filter(({ Time }) => Time > before.untilNs);
  const kills = fresh.filter(({ Type, Details }) => Type === 'Terminated' && Details['oom_killed'] === 'true');
  return { count: before.count + kills.length, untilNs: fresh.at(-1)?.Time ?? before.untilNs };
}
