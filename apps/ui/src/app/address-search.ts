/**
 * Reads the query of an address as plain texts: `?status=running`, never JSON. If a name occurs twice, the last value
 * counts.
 */
export const readSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

/** @returns the query with its question mark; empty if nothing is set */
export function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
  const text = new URLSearchParams(set as [string, string][]).toString();
  return text === '' ? '' : `?${text}`;
}

/** Reads these names from an address, whose values may be anything. It omits values that are empty or not texts. */
export const textsIn =
  <Name extends string>(...names: readonly Name[]) =>
  (search: Readonly<Record<string, unknown>>): Partial<Record<Name, string>> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as Partial<Record<Name, string>>;
