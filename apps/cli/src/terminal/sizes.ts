const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** Formats bytes in base 1024, with one decimal below 10 (CL-145). */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  if (unit === 0) return `${Math.trunc(bytes)} B`;
  const tenths = Math.floor(value * 10 + 0.5);
  const shown = tenths < 100 ? (tenths / 10).toFixed(1) : String(halfToEven(tenths));
  return `${shown} ${UNITS[unit]}`;
}

function halfToEven(tenths: number): number {
  const whole = Math.floor(tenths / 10);
  const rest = tenths % 10;
  return rest > 5 || (rest === 5 && whole % 2 === 1) ? whole + 1 : whole;
}

/** Formats a percentage: two decimals, a comma per thousand (CL-146). */
export const formatPercent = (value: number): string =>
  `${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}%`;
