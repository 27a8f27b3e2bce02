import { Status } from '@grpc/grpc-js/build/src/constants.js';

/** gRPC's status codes, by a part of the library that does not load the rest of it. */
export { Status as status };

/** Returns the name of a code. CSI's constants are in upper case, and texts contain FailedPrecondition, Canceled. */
export function nameOf(code: number): string {
  if (code === Status.CANCELLED) return 'Canceled';
  const words = (Status[code] ?? 'UNKNOWN').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
