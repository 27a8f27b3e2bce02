import { causeOf } from '../failure.js';

/** The scheduler finds no node for a replacement, so restarting further allocations is pointless. */
export class PlacementFailed extends Error {
  override readonly name = 'PlacementFailed';
}

/** An error of one allocation. */
export interface AllocationError {
  readonly text: string;
  /** Whether the error will also occur for the next allocation (JR-503). */
  readonly unrecoverable: boolean;
}

/** Returns an error `Failed to <doing>: <cause>`, such as `Failed to stop allocation: …`. */
export const failedTo = (doing: string, cause: unknown): Error => new Error(`Failed to ${doing}: ${causeOf(cause)}`);

/** Prefixes an error with its allocation (JR-511). */
export function allocationError(id: string, cause: unknown): AllocationError {
  const text = `Error restarting allocation "${id}": ${causeOf(cause)}`;
  return { text, unrecoverable: cause instanceof PlacementFailed || text.includes('Permission denied') };
}

/** Lists the errors under a line with their number (JR-906). */
export function errorList(errors: readonly AllocationError[]): string {
  const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
  return [`${count} occurred while restarting job:`, ...errors.map(({ text }) => `* ${text}`)].join('\n');
}
