const NAMES = ['a', 'b', '=', 'length', '0'] as const;

/**
 * Returns a few objects made of few names and values, so that they have much in common. The same seed gives the same
 * objects.
 */
export function randomOf(seed: number): object[] {
  let state = seed;
  /** Park and Miller's random number generator. Returns an integer below `limit`. */
  const below = (limit: number): number => (state = (state * 48_271) % 2_147_483_647) % limit;
  const value = (depth: number): unknown => {
    const kind = below(depth > 0 ? 6 : 4);
    if (kind < 3) return [null, below(3), 'x'][kind];
    if (kind === 3) return depth > 0 ? Array.from({ length: below(3) }, () => value(depth - 1)) : [];
    return object(depth - 1);
  };
  const object = (depth: number): Record<string, unknown> =>
    Object.fromEntries(NAMES.filter(() => below(2) === 0).map((name) => [name, value(depth)]));
  return Array.from({ length: 1 + below(5) }, () => object(3));
}
