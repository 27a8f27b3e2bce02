/** What was only begun is what is meant, else what differs least. Loaded only for those who mistyped. */
export async function nearestWord(written: string, known: readonly string[]): Promise<string | undefined> {
  const [begun, another] = written === '' ? [] : known.filter((name) => name.startsWith(written));
  if (begun !== undefined && another === undefined) return begun;
  return (await import('@waybill/jobspec/nearest-name')).nearest(written, known);
}
