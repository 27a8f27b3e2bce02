import { causeOf } from '../failure.js';

/** The scheduler finds no place for a replacement: trying the next one is of no use. */
export class PlacementFailed extends Error {
  override readonly name = 'PlacementFailed';
}

/** What went wrong with one allocation. */
export interface AllocationError {
  readonly text: string;
  /** It will happen again with the next allocation (JR-503). */
  readonly unrecoverable: boolean;
}

/** `Failed to stop allocation: <cause>`. */
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
