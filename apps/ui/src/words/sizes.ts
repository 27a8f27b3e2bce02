const KIB = 1_024;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns bytes in the unit with the fewest digits: `1.5 GiB`. */
export function bytesInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= KIB && unit < UNITS.length - 1) {
    value /= KIB;
    unit++;
  }
  return `${Number.isInteger(value) || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const bytesOf = (mib: number): number => mib * KIB * KIB;

export const megabytesInWords = (mib: number): string => bytesInWords(bytesOf(mib));

/** Returns a count with its noun: `1 machine`, `3 machines`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** Returns a share of a CPU: `250 MHz`, `2.4 GHz`. */
export const megahertzInWords = (mhz: number): string =>
  mhz < 1_000 ? `${Math.round(mhz)} MHz` : `${(mhz / 1_000).toFixed(1)} GHz`;
