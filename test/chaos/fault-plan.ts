/** What an adversary does to one process. Milliseconds. */
export type Fault =
  | { readonly kind: 'kill'; readonly victim: string; readonly downMs: number; readonly thenMs: number }
  | { readonly kind: 'freeze'; readonly victim: string; readonly frozenMs: number; readonly thenMs: number };

/** In [0, 1). */
export type Random = () => number;

/** Longer than a lease lives, so that roles change hands; shorter than a machine may be silent. */
export const LONGEST_FREEZE_MS = 7_000;
export const LONGEST_DOWN_MS = 3_000;
export const LONGEST_REST_MS = 2_500;

/**
 * The next fault, by the seed that `random` was made of: two in three are kills. A freeze of nats-server or PostgreSQL is
 * as good as a network that is cut.
 */
export function nextFault(random: Random, victims: readonly string[]): Fault {
  const victim = victims[Math.floor(random() * victims.length)];
  if (victim === undefined) throw new RangeError('there is nobody to do something to');
  const [kind, howLong, rest] = [random(), random(), random()];
  const thenMs = Math.round(rest * LONGEST_REST_MS);
  return kind < 2 / 3
    ? { kind: 'kill', victim, downMs: Math.round(howLong * LONGEST_DOWN_MS), thenMs }
    : { kind: 'freeze', victim, frozenMs: Math.round(500 + howLong * (LONGEST_FREEZE_MS - 500)), thenMs };
}
