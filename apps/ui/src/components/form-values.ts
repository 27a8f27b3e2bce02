/** Returns the text of a field of a form. Files, which no dialog has, count as nothing. */
export function textOf(values: FormData, name: string): string {
  const value = values.get(name);
  return typeof value === 'string' ? value : '';
}
