export const DAY_MS = 86_400_000;

/**
 * The clock on the wall of a time zone. A reading is unix milliseconds as if the wall were in UTC; a moment is unix
 * milliseconds. Between them lies the zone's offset, which changes where clocks are put forward or back.
 *
 * Cost: reading the clock formats one date. Assumes that a zone's offset changes at most once within two days.
 */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  /** @param zone as IANA names it; undefined: the machine's. @throws RangeError of a zone that is unknown */
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

  /** What is added to a moment to read the clock, milliseconds. */
  offsetMs(momentMs: number): number {
    const field = new Map(this.format.formatToParts(momentMs).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => field.get(type) ?? 0;
    const reading = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
    return reading - Math.floor(momentMs / 1000) * 1000;
  }

  /** The least offset of the days around a moment. */
  leastOffsetMs(momentMs: number): number {
    return Math.min(this.offsetMs(momentMs - DAY_MS), this.offsetMs(momentMs + DAY_MS));
  }

  /**
   * When the clock shows a reading. What it shows twice is meant the first time; what it never shows is as much later
   * by the wall as the clock is put forward.
   */
  momentOf(readingMs: number): number {
    const before = this.offsetMs(readingMs - DAY_MS);
    const after = this.offsetMs(readingMs + DAY_MS);
    const [early, late] = [readingMs - before, readingMs - after];
    if (before === after || this.offsetMs(early) === before) return early;
    return this.offsetMs(late) === after ? late : early;
  }

  /** The first moment after `fromMs` and up to `toMs`, a day later at most, with another offset; undefined: none. */
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
