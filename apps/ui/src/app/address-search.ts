/** The query of an address as plain texts: `?status=running`, never JSON. A name that is given twice counts once, as the last. */
export const readSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

/** @returns with its question mark; empty when nothing is set */
export function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
  const text = new URLSearchParams(set as [string, string][]).toString();
  return text === '' ? '' : `?${text}`;
}

/** Reads these names from an address, whose values may be anything; what is no text, or empty, is left out. */
export const textsIn =
  <Name extends string>(...names: readonly Name[]) =>
  (search: Readonly<Record<string, unknown>>): Partial<Record<Name, string>> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as Partial<Record<Name, string>>;
