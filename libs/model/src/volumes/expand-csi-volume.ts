import type { CSIVolume, CSIVolumeSpecification } from './csi-volume.js';

/** Requested sizes in bytes. 0 if none is requested. */
export interface RequestedCapacity {
  readonly RequestedCapacityMin: number;
  readonly RequestedCapacityMax: number;
}

/** Result of a request for another size (3.6). A volume never shrinks. */
export type CapacityChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly error: string }
  /** The plugin has nothing to do. The new numbers are stored. */
  | { readonly kind: 'stored'; readonly requested: RequestedCapacity }
  /**
   * The disk already has the requested size. A machine that mounts it may not know, if an earlier expansion failed
   * there (VL-51).
   */
  | { readonly kind: 'reached'; readonly requested: RequestedCapacity }
  /** The plugin must expand the disk, and returns its new size. */
  | { readonly kind: 'expanded'; readonly requested: RequestedCapacity };

/** Decides whether a requested capacity expands the volume (VL-43 to VL-47, VL-51). */
export function capacityChange(
  stored: Pick<CSIVolume, 'Capacity' | 'RequestedCapacityMin' | 'RequestedCapacityMax'>,
  given: Pick<CSIVolumeSpecification, 'RequestedCapacityMin' | 'RequestedCapacityMax'>,
): CapacityChange {
  const { RequestedCapacityMin: min, RequestedCapacityMax: max } = given;
  if (min === 0 && max === 0) return { kind: 'none' };
  if (min === stored.RequestedCapacityMin && max === stored.RequestedCapacityMax) return { kind: 'none' };
  if (max > 0 && max < min) return refused(max, 'min', min);
  if (max > 0 && max < stored.Capacity) return refused(max, 'current', stored.Capacity);
  const requested = { RequestedCapacityMin: min, RequestedCapacityMax: max };
  if (min > stored.Capacity) return { kind: 'expanded', requested };
  return { kind: min > stored.RequestedCapacityMin ? 'reached' : 'stored', requested };
}

const refused = (max: number, than: string, size: number): CapacityChange => ({
  kind: 'refused',
  error: `max requested capacity (${sizeText(max)}) less than or equal to ${than} (${sizeText(size)})`,
});

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'] as const;

/** Formats a size in SI units, below 10 with one decimal: `2 B`, `1.5 kB`, `20 MB` (VL-45). */
function sizeText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < UNITS.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit > 0 && size < 10 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`;
}
