import { CsiArgumentError } from './errors.js';

/** @throws CsiArgumentError `missing <what>` (VL-254) */
export function required(what: string, value: string): string {
  if (value === '') throw new CsiArgumentError(`missing ${what}`);
  return value;
}

/** A range in bytes. Undefined or 0 stands for no bound. */
export interface CapacityRange {
  readonly requiredBytes?: bigint;
  readonly limitBytes?: bigint;
}

export interface WireCapacityRange {
  readonly required_bytes?: string;
  readonly limit_bytes?: string;
}

/** Returns the range, or undefined without any bound (CW-13). @throws CsiArgumentError */
export function capacityRange({ requiredBytes = 0n, limitBytes = 0n }: CapacityRange): WireCapacityRange | null {
  if (requiredBytes < 0n || limitBytes < 0n) throw new CsiArgumentError('a capacity must not be negative');
  if (requiredBytes === 0n && limitBytes === 0n) return null;
  if (limitBytes > 0n && limitBytes < requiredBytes)
    throw new CsiArgumentError('the limit of a capacity must not be below what is required');
  return {
    ...(requiredBytes > 0n && { required_bytes: requiredBytes.toString() }),
    ...(limitBytes > 0n && { limit_bytes: limitBytes.toString() }),
  };
}

/** @throws CsiArgumentError if there is no bound, because a size is required */
export function wantedCapacity(range: CapacityRange): WireCapacityRange {
  const wanted = capacityRange(range);
  if (!wanted) throw new CsiArgumentError('missing capacity range');
  return wanted;
}
