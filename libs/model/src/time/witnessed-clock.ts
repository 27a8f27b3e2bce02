import type { Clock } from './clock.js';

/** Largest difference in milliseconds at which a wall clock is believed. It exceeds the error of a slow response. */
export const CLOCK_TOLERANCE_MS = 2_000;
/** A response of the witness that took longer, in milliseconds, is too inexact. */
export const MAX_WITNESS_TRIP_MS = 2_000;
/** Milliseconds after which a wall clock that was set is believed if there is no witness. */
export const CLOCK_DOUBT_MS = 30_000;

export interface TimeSources {
  /** Clock of the machine, in unix ms. */
  readonly wall: Clock;
  /** Milliseconds since an arbitrary moment, by a clock that cannot be set. */
  readonly monotonic: Clock;
  /**
   * Milliseconds since the machine started, including the time in which it slept. If absent, `monotonic` is used. Read
   * rarely.
   */
  readonly sinceBoot?: () => number;
  /**
   * Called when the wall clock deviates from the expected time, so that a witness should be asked. Called at most once
   * for each deviation.
   */
  readonly onDoubt?: () => void;
}

/** Three sources for the same moment, in unix ms. */
export interface Accounts {
  readonly wallMs: number;
  /** The time believed last plus the elapsed time since. Undefined if there is none. */
  readonly expectedMs: number | undefined;
  /** The last time of the witness plus the elapsed time since. Undefined if there is no witness. */
  readonly witnessMs: number | undefined;
}

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= CLOCK_TOLERANCE_MS;

/**
 * Returns the time to believe. If the witness agrees with the wall clock, that is the wall clock's time. Otherwise it
 * is the median of the three sources, so that a single wrong source has no effect. At first there are only two sources,
 * and the witness's time is believed. Returns undefined if the wall clock was set and there is no witness to confirm
 * it. Pure.
 */
export function believedMs({ wallMs, expectedMs, witnessMs }: Accounts): number | undefined {
  if (witnessMs === undefined) return expectedMs === undefined || isNear(wallMs, expectedMs) ? wallMs : undefined;
  if (isNear(wallMs, witnessMs)) return wallMs;
  if (expectedMs === undefined) return witnessMs;
  return Math.max(Math.min(wallMs, witnessMs), Math.min(expectedMs, Math.max(wallMs, witnessMs)));
}

/**
 * The time of day for decisions and for stored times. A machine's clock may be set to a wrong hour and back, and it may
 * run fast or slow. Launches, ends, collections and postponements that happen meanwhile cannot be undone. Therefore
 * three sources are compared: the wall clock, its expected value by elapsed time, and a witness on another machine.
 *
 * believing ⇄ doubting (the wall clock deviates from the expected time) → believing: when the witness agrees with the
 * wall clock, when the wall clock was set back to the right time, or after CLOCK_DOUBT_MS without any witness. Time in
 * which the machine slept counts as elapsed. Limits: if wall clock and witness are wrong together, as on one machine,
 * the wrong time is believed. Cost of a reading: two clocks.
 */
export class WitnessedClock implements Clock {
  private believed: { readonly ms: number; readonly atMs: number } | undefined;
  private witnessed: { readonly ms: number; readonly atMs: number } | undefined;
  /** By the monotonic clock. */
  private doubtedSinceMs: number | undefined;
  /** Time in which the machine slept, which the monotonic clock does not count. */
  private sleptMs = 0;
  private readonly bootedBeforeMs: number;

  constructor(private readonly sources: TimeSources) {
    this.bootedBeforeMs = this.sinceBootMs() - sources.monotonic.nowMs();
  }

  /**
   * Returns the milliseconds by which the wall clock is ahead of the believed time. 0 if the wall clock is believed.
   */
  get offMs(): number {
    return this.doubtedSinceMs === undefined ? 0 : this.sources.wall.nowMs() - this.nowMs();
  }

  nowMs(): number {
    const wallMs = this.sources.wall.nowMs();
    let atMs = this.passedMs();
    let accounts = this.accountsOf(wallMs, atMs);
    let nowMs = believedMs(accounts);
    if (nowMs !== wallMs && this.notesSleep()) {
      atMs = this.passedMs();
      accounts = this.accountsOf(wallMs, atMs);
      nowMs = believedMs(accounts);
    }
    if (nowMs === wallMs) this.doubtedSinceMs = undefined;
    else nowMs = this.doubt(accounts, atMs, nowMs);
    this.believed = { ms: nowMs, atMs };
    return Math.floor(nowMs);
  }

  /**
   * Takes the time of a witness, in unix ms, and the duration of the request for it. The time is correct for some
   * moment in between.
   * @returns whether the response was fast enough to be used
   */
  hear(witnessMs: number, tripMs: number): boolean {
    if (tripMs > MAX_WITNESS_TRIP_MS || !Number.isFinite(witnessMs)) return false;
    // Until now only the wall clock was believed, so the believed time is not an independent source.
    if (!this.witnessed) this.believed = undefined;
    this.witnessed = { ms: witnessMs + tripMs / 2, atMs: this.passedMs() };
    return true;
  }

  private doubt(accounts: Accounts, atMs: number, judgedMs: number | undefined): number {
    if (this.doubtedSinceMs === undefined) {
      this.doubtedSinceMs = atMs;
      this.sources.onDoubt?.();
    }
    if (judgedMs !== undefined) return judgedMs;
    if (atMs - this.doubtedSinceMs < CLOCK_DOUBT_MS && accounts.expectedMs !== undefined) return accounts.expectedMs;
    this.doubtedSinceMs = undefined;
    return accounts.wallMs;
  }

  private accountsOf(wallMs: number, atMs: number): Accounts {
    const at = (said: { readonly ms: number; readonly atMs: number } | undefined): number | undefined =>
      said && said.ms + (atMs - said.atMs);
    return { wallMs, expectedMs: at(this.believed), witnessMs: at(this.witnessed) };
  }

  private passedMs(): number {
    return this.sources.monotonic.nowMs() + this.sleptMs;
  }

  /** Whether the machine has slept since the last check. */
  private notesSleep(): boolean {
    const sleptMs = this.sinceBootMs() - this.sources.monotonic.nowMs() - this.bootedBeforeMs;
    if (sleptMs - this.sleptMs <= CLOCK_TOLERANCE_MS) return false;
    this.sleptMs = sleptMs;
    return true;
  }

  private sinceBootMs(): number {
    return this.sources.sinceBoot?.() ?? this.sources.monotonic.nowMs();
  }
}
