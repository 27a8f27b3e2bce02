/** The query of an address as plain texts: `?status=running`, never JSON. A name that is given twice counts once, as the last. */
export const readSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

/** @returns with its question mark; empty when nothing is set */
export function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
  const text = new URLSearchParams(set as [string, string][]).toString();
  return text === '' ? '' : `?${text}`;
}
