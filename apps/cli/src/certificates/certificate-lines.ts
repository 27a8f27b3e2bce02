import { table } from '../terminal/table.js';

/** Formats a time like Go: `2027-11-14 21:40:45 +0000 UTC`. */
export const goTime = (time: Date): string => `${time.toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`;

/** Formats a list like Go. */
export const goList = (items: readonly string[]): string => `[${items.join(' ')}]`;

/** Formats names and values in two columns. */
export const infoLines = (rows: readonly (readonly [string, string])[]): string => table(rows);
