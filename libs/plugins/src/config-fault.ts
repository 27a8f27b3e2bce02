/** ConfigFault says what is wrong with a driver's configuration, and where. */
export interface ConfigFault {
  /** The keys and the positions in lists that lead to the wrong value, or to the body that lacks a key. */
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * Whether a value contains text that a machine interpolates, at any depth. Its value is unknown before a task starts.
 * Cost: O(size of the value).
 */
export function isInterpolated(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string' && next.includes('${')) return true;
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) left.push(inner);
  }
  return false;
}
