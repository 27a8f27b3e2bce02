import { byNameAndType, type DiffType, type FieldDiff } from './difference.js';

/** Fields by name, values as text. */
export type Fields = Map<string, string>;

/** Adds a value as one field, or its entries as `name[k]`, at any depth. Null is left out. */
export function addFields(fields: Fields, name: string, value: unknown): void {
  if (value === null || value === undefined) return;
  if (typeof value !== 'object') fields.set(name, textOf(value));
  else for (const [key, entry] of Object.entries(value)) addFields(fields, `${name}[${key}]`, entry);
}

/** Compares fields and sorts the result by name. @param withUnchanged also list equal fields, as context */
export function diffFields(before: Fields, after: Fields, withUnchanged: boolean): FieldDiff[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  const diffs = [...names].map((name) => diffField(name, before.get(name) ?? '', after.get(name) ?? ''));
  return diffs.filter(({ Type }) => withUnchanged || Type !== 'None').toSorted(byNameAndType);
}

function diffField(Name: string, Old: string, New: string): FieldDiff {
  return { Type: typeOf(Old, New), Name, Old, New, Annotations: [] };
}

/** An empty value counts as absent. */
function typeOf(before: string, after: string): DiffType {
  if (before === after) return 'None';
  if (before === '') return 'Added';
  return after === '' ? 'Deleted' : 'Edited';
}

/**
 * Compares two lists of plain values as sets. Each added or removed value is a field with the list's name. The result
 * is sorted by old, then new value.
 */
export function diffValues(name: string, before: readonly unknown[], after: readonly unknown[]): FieldDiff[] {
  const [old, next] = [new Set(before.map(textOf)), new Set(after.map(textOf))];
  const diffs = [...new Set([...old, ...next])].map((value) =>
    diffField(name, old.has(value) ? value : '', next.has(value) ? value : ''),
  );
  return diffs.toSorted((a, b) => byText(a.Old, b.Old) || byText(a.New, b.New));
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Formats a value for a diff. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
