/** What an adversary does to one process. Milliseconds. */
export type Fault =
  | { readonly kind: 'kill'; readonly victim: string; readonly downMs: number; readonly thenMs: number }
  | { readonly kind: 'freeze'; readonly victim: string; readonly frozenMs: number; readonly thenMs: number }
  | ClockFault
  | CutFault;

/** The clock of a process is set, or runs too fast or too slow, while the adversary goes on. */
export interface ClockFault {
  readonly kind: 'clock';
  readonly victim: string;
  readonly aheadS: number;
  /** 0.05: it gains 3 s a minute. */
  readonly gain: number;
  readonly wrongMs: number;
  readonly thenMs: number;
}

/** The nats-server loses power, and with it what it wrote in its last moments. */
export interface CutFault {
  readonly kind: 'cut';
  readonly unsyncedMs: number;
  readonly thenMs: number;
}

/** In [0, 1). */
export type Random = () => number;

/** Longer than a lease lives, so that roles change hands; shorter than a machine may be silent. */
export const LONGEST_FREEZE_MS = 7_000;
export const LONGEST_DOWN_MS = 3_000;
export const LONGEST_REST_MS = 2_500;
/** Of a wrong clock. */
export const LONGEST_WRONG_MS = 60_000;
const WRONG_HOURS_S = [3_600, -3_600, 86_400, -86_400] as const;
const GAIN = 0.05;

/** Of the faults of an adversary who cuts power, those that are cuts. */
export const CUT_SHARE = 0.25;

/**
 * What a power cut takes at most, by the `sync_interval` of nats-server: everything since the last sync, or nothing.
 * @throws RangeError for an interval other than `always` and whole milliseconds (`100ms`)
 */
export function unsyncedAtMostMs(syncInterval: string): number {
  if (syncInterval === 'always') return 0;
  const ms = /^(\d+)ms$/.exec(syncInterval)?.[1];
  if (ms === undefined) throw new RangeError(`not "always" and no milliseconds: ${syncInterval}`);
  return Number(ms);
}

/** A moment before a cut, at most as long as what may be unsynced. */
export const nextCut = (random: Random, unsyncedAtMost: number): CutFault => ({
  kind: 'cut',
  unsyncedMs: Math.round(random() * unsyncedAtMost),
  thenMs: Math.round(random() * LONGEST_REST_MS),
});

/**
 * The next fault, by the seed that `random` was made of: two in three are kills. A freeze of nats-server or PostgreSQL is
 * as good as a network that is cut.
 */
export function nextFault(random: Random, victims: readonly string[]): Exclude<Fault, ClockFault> {
  const victim = victims[Math.floor(random() * victims.length)];
  if (victim === undefined) throw new RangeError('there is nobody to do something to');
  const [kind, howLong, rest] = [random(), random(), random()];
  const thenMs = Math.round(rest * LONGEST_REST_MS);
  return kind < 2 / 3
    ? { kind: 'kill', victim, downMs: Math.round(howLong * LONGEST_DOWN_MS), thenMs }
    : { kind: 'freeze', victim, frozenMs: Math.round(500 + howLong * (LONGEST_FREEZE_MS - 500)), thenMs };
}

/** The next clock that is wrong: two in three are set to another hour or day, the others are fast or slow. */
export function nextClockFault(random: Random, victims: readonly string[]): ClockFault {
  const victim = victims[Math.floor(random() * victims.length)];
  if (victim === undefined) throw new RangeError('there is nobody whose clock could be set');
  const [kind, which, howLong, rest] = [random(), random(), random(), random()];
  return {
    kind: 'clock',
    victim,
    aheadS: kind < 2 / 3 ? (WRONG_HOURS_S[Math.floor(which * WRONG_HOURS_S.length)] ?? 0) : 0,
    gain: kind < 2 / 3 ? 0 : which < 0.5 ? -GAIN : GAIN,
    wrongMs: Math.round(1_000 + howLong * (LONGEST_WRONG_MS - 1_000)),
    thenMs: Math.round(rest * LONGEST_REST_MS),
  };
}
