export const DAY_MS = 86_400_000;

/**
 * The clock of a time zone. A reading is the clock's time in unix milliseconds, as if it showed UTC. A moment is a unix
 * time in milliseconds. They differ by the zone's offset, which changes when clocks are put forward or back.
 *
 * Cost: reading the clock formats one date. Assumes that a zone's offset changes at most once within two days.
 */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  /** @param zone IANA name, or undefined for the machine's own zone. @throws RangeError if the zone is unknown */
  constructor(zone: string | undefined) {
    this.format = new Intl.DateTimeFormat('en-US', {
      ...(zone !== undefined && { timeZone: zone }),
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** Returns the milliseconds to add to a moment to get the clock's reading. */
  offsetMs(momentMs: number): number {
    const field = new Map(this.format.formatToParts(momentMs).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => field.get(type) ?? 0;
    const reading = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
    return reading - Math.floor(momentMs / 1000) * 1000;
  }

  /** Returns the smallest offset within a day around a moment. */
  leastOffsetMs(momentMs: number): number {
    return Math.min(this.offsetMs(momentMs - DAY_MS), this.offsetMs(momentMs + DAY_MS));
  }

  /**
   * Returns the moment at which the clock shows a reading. A repeated reading means its first moment. A skipped reading
   * is as late by the clock as the clock is put forward.
   */
  momentOf(readingMs: number): number {
    const before = this.offsetMs(readingMs - DAY_MS);
    const after = this.offsetMs(readingMs + DAY_MS);
    const [early, late] = [readingMs - before, readingMs - after];
    if (before === after || this.offsetMs(early) === before) return early;
    return this.offsetMs(late) === after ? late : early;
  }

  /**
   * Returns the first moment after `fromMs` and up to `toMs`, at most a day later, with another offset. Undefined if
   * there is none.
   */
  changeWithin(fromMs: number, toMs: number): number | undefined {
    const offset = this.offsetMs(fromMs);
    if (this.offsetMs(toMs) === offset) return undefined;
    let [same, changed] = [fromMs, toMs];
    while (changed - same > 1) {
      const middle = Math.floor((same + changed) / 2);
      if (this.offsetMs(middle) === offset) same = middle;
      else changed = middle;
    }
    return changed;
  }
}
