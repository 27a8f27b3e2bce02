import type { Clock } from './clock.js';

/** A wall clock this close to its witness is believed, milliseconds: more than a slow answer is wrong by. */
export const CLOCK_TOLERANCE_MS = 2_000;
/** An answer that took longer says too little about the time, milliseconds. */
export const MAX_WITNESS_TRIP_MS = 2_000;
/** Without a witness, a wall clock that was set is believed after this time, milliseconds. */
export const CLOCK_DOUBT_MS = 30_000;

export interface TimeSources {
  /** What the machine says, unix ms. */
  readonly wall: Clock;
  /** Milliseconds since any moment, by a clock that nobody sets. */
  readonly monotonic: Clock;
  /** Milliseconds since the machine started, with the time in which it slept; as `monotonic` if absent. Read rarely. */
  readonly sinceBoot?: () => number;
  /** The wall clock is not where it should be; a witness would help. Called at most once for each time this begins. */
  readonly onDoubt?: () => void;
}

/** Three accounts of one moment, unix ms. */
export interface Accounts {
  readonly wallMs: number;
  /** What was believed last, and the time that has passed since. Undefined: nothing was. */
  readonly expectedMs: number | undefined;
  /** What the witness said last, and the time that has passed since. Undefined: nobody can be asked. */
  readonly witnessMs: number | undefined;
}

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= CLOCK_TOLERANCE_MS;

/**
 * Which time it is: the wall clock's, if its witness agrees with it. If not, the one in the middle of the three accounts,
 * so that one that is wrong alone moves nothing; in the beginning, when there are two, the witness's. Undefined: the wall
 * clock was set and nobody says whether that is right. Pure.
 */
export function believedMs({ wallMs, expectedMs, witnessMs }: Accounts): number | undefined {
  if (witnessMs === undefined) return expectedMs === undefined || isNear(wallMs, expectedMs) ? wallMs : undefined;
  if (isNear(wallMs, witnessMs)) return wallMs;
  if (expectedMs === undefined) return witnessMs;
  return Math.max(Math.min(wallMs, witnessMs), Math.min(expectedMs, Math.max(wallMs, witnessMs)));
}

/**
 * The time of day for decisions and for what they store. A machine's clock may be set to a wrong hour, and back, and run
 * fast or slow; what was launched, ended, collected or put off meanwhile cannot be undone. So three accounts are compared:
 * the wall clock, what it should say by the time that has passed, and a witness on another machine.
 *
 * believing ⇄ doubting (the wall clock is not where it should be) → believing: when the witness agrees with the wall
 * clock, when that was set back, or, without any witness, after CLOCK_DOUBT_MS. Time in which the machine slept is time
 * that has passed. Limits: wall clock and witness wrong together, as on one machine, are believed.
 * Cost of a reading: two clocks.
 */
export class WitnessedClock implements Clock {
  private believed: { readonly ms: number; readonly atMs: number } | undefined;
  private witnessed: { readonly ms: number; readonly atMs: number } | undefined;
  /** By the monotonic clock. */
  private doubtedSinceMs: number | undefined;
  /** Time in which the machine slept, which the monotonic clock did not count. */
  private sleptMs = 0;
  private readonly bootedBeforeMs: number;

  constructor(private readonly sources: TimeSources) {
    this.bootedBeforeMs = this.sinceBootMs() - sources.monotonic.nowMs();
  }

  /** How far the wall clock is ahead of what is believed, milliseconds; 0: it is believed. */
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
   * What a witness says, unix ms, and how long it took to hear of it: the time is true of some moment in between.
   * @returns whether that says enough
   */
  hear(witnessMs: number, tripMs: number): boolean {
    if (tripMs > MAX_WITNESS_TRIP_MS || !Number.isFinite(witnessMs)) return false;
    // What was believed before was the wall clock's word, which is no second account.
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

  /** Whether the machine has slept since it was last looked at. */
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
