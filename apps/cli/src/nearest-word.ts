/**
 * Returns the known word that starts with the given one, otherwise the most similar one. Loaded only after a typing
 * error.
 */
export async function nearestWord(written: string, known: readonly string[]): Promise<string | undefined> {
  const [begun, another] = written === '' ? [] : known.filter((name) => name.startsWith(written));
  if (begun !== undefined && another === undefined) return begun;
  return (await import('@waybill/jobspec/nearest-name')).nearest(written, known);
}
