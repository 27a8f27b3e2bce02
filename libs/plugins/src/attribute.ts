import type { AttributeMessage } from './messages.js';

const UNITS = new Set([
  ...['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'kB', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'].flatMap((unit) => [
    unit,
    `${unit}/s`,
  ]),
  'MHz',
  'GHz',
  'mW',
  'W',
  'kW',
  'MW',
  'GW',
]);

/** Says what is wrong with an attribute, or returns undefined (PG-46). The schema allows at most one value. */
export function attributeFault({
  float_val,
  int_val,
  string_val,
  bool_val,
  unit,
}: AttributeMessage): string | undefined {
  const isNumber = float_val !== undefined || int_val !== undefined;
  if (!isNumber && string_val === undefined && bool_val === undefined) return 'no attribute value set';
  if (unit === '') return undefined;
  if (!isNumber) return 'unit can not be specified on a boolean or string attribute';
  return UNITS.has(unit) ? undefined : `unrecognized unit ${JSON.stringify(unit)}`;
}

/** Returns an attribute as text: its value, followed by its unit without a space (PG-46). */
export const attributeText = ({ float_val, int_val, string_val, bool_val, unit }: AttributeMessage): string =>
  `${string_val ?? int_val ?? float_val ?? bool_val ?? ''}${unit}`;
