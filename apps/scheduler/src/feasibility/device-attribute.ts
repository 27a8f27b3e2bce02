/**
 * The value of a device's attribute, or of a literal that it is compared with (SC-94). Amounts are in the family's base
 * unit.
 */
export type DeviceValue = { readonly text: string } & (
  | { readonly kind: 'text' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'amount'; readonly amount: number; readonly family: UnitFamily }
);

/** Units of one family convert into each other; the empty family is for numbers without unit. */
type UnitFamily = '' | 'byte' | 'byte rate' | 'hertz' | 'watt';

interface Unit {
  readonly family: UnitFamily;
  /** Base units in one of this unit. */
  readonly multiplier: number;
}

const BINARY = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
const DECIMAL = { k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };

const UNITS: ReadonlyMap<string, Unit> = new Map([
  ...withPrefixes('byte', 'B', { ...BINARY, ...DECIMAL }),
  ...withPrefixes('byte rate', 'B/s', { ...BINARY, ...DECIMAL }),
  ...withPrefixes('hertz', 'Hz', { M: 1e6, G: 1e9 }),
  ...withPrefixes('watt', 'W', { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9 }),
]);

function withPrefixes(family: UnitFamily, unit: string, prefixes: Record<string, number>): [string, Unit][] {
  return Object.entries(prefixes).map(([prefix, multiplier]) => [`${prefix}${unit}`, { family, multiplier }]);
}

const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

/** Parses a literal: a number with or without a unit, or else a boolean, or else text (SC-94). */
export function parseDeviceValue(text: string): DeviceValue {
  // The number and its unit are separated in one pass: no two neighbouring parts match the same character.
  const match = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z/]*)$/.exec(text);
  const [, digits = '', unit = ''] = match ?? [];
  if (match && unit === '') return { kind: 'amount', amount: Number(digits), family: '', text };
  const known = UNITS.get(unit);
  if (match && known) return { kind: 'amount', amount: Number(digits) * known.multiplier, family: known.family, text };
  if (TRUE.includes(text)) return { kind: 'boolean', value: true, text };
  if (FALSE.includes(text)) return { kind: 'boolean', value: false, text };
  return { kind: 'text', text };
}

/**
 * Parses an attribute of a node's fingerprint: `{Int|Float|String|Bool, Unit}`, of which all but one are null.
 * Undefined: it has no value.
 */
export function deviceValueOf(attribute: unknown): DeviceValue | undefined {
  if (typeof attribute === 'string') return { kind: 'text', text: attribute };
  if (typeof attribute !== 'object' || attribute === null) return undefined;
  const { Int, Float, String: text, Bool, Unit: unit } = attribute as Record<string, unknown>;
  if (typeof text === 'string') return { kind: 'text', text };
  if (typeof Bool === 'boolean') return { kind: 'boolean', value: Bool, text: String(Bool) };
  const number = typeof Int === 'number' ? Int : Float;
  if (typeof number !== 'number') return undefined;
  if (typeof unit !== 'string' || unit === '')
    return { kind: 'amount', amount: number, family: '', text: String(number) };
  const known = UNITS.get(unit);
  return known && { kind: 'amount', amount: number * known.multiplier, family: known.family, text: `${number}${unit}` };
}

/**
 * Compares two values: below 0, 0 or above 0 if the left one is less, equal or more; undefined if they are not
 * comparable (SC-95).
 */
export function orderOf(left: DeviceValue, right: DeviceValue): number | undefined {
  if (left.kind === 'amount')
    return right.kind === 'amount' && right.family === left.family ? left.amount - right.amount : undefined;
  if (left.kind === 'boolean') return right.kind === 'boolean' ? Number(left.value) - Number(right.value) : undefined;
  if (right.kind !== 'text') return undefined;
  return Buffer.compare(Buffer.from(left.text), Buffer.from(right.text));
}
