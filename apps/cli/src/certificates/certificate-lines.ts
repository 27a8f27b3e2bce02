import { table } from '../terminal/table.js';

/** As Go prints a time: `2027-11-14 21:40:45 +0000 UTC`. */
export const goTime = (time: Date): string => `${time.toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`;

/** As Go prints a list. */
export const goList = (items: readonly string[]): string => `[${items.join(' ')}]`;

/** Names and values, in two columns. */
export const infoLines = (rows: readonly (readonly [string, string])[]): string => table(rows);
