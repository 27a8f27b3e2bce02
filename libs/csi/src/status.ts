/** gRPC's status codes, which never change. They are listed here so that a code can be read without loading gRPC. */
export const status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

const NAMES = new Map<number, string>(Object.entries(status).map(([name, code]) => [code, name]));

/** Returns the name of a code. CSI's constants are in upper case, and texts contain FailedPrecondition, Canceled. */
export function nameOf(code: number): string {
  if (code === status.CANCELLED) return 'Canceled';
  const words = (NAMES.get(code) ?? 'UNKNOWN').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
