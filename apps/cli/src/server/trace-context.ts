const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Returns the `traceparent` of this run: a child of the one in the environment, or the start of a new trace (CL-124).
 * @param randomHex returns that many random bytes in lower-case hex
 */
export function startTrace(parent: string | undefined, randomHex: (bytes: number) => string): string {
  const match = TRACEPARENT.exec(parent ?? '');
  const usable = match !== null && !/^0+$/.test(match[1] ?? '') && !/^0+$/.test(match[2] ?? '');
  return `00-${usable ? match[1] : randomHex(16)}-${randomHex(8)}-${usable ? match[3] : '01'}`;
}
