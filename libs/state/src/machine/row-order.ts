/** Rows that contain the index of their creation. */
interface Created {
  readonly ID: string;
  readonly CreateIndex: number;
}

/**
 * A copy of the rows, oldest first. Appliers that write several rows found through an index iterate in this order: the
 * order of a table differs between copies of the state, and the order of events must not (ST-3, EV-13).
 */
export function oldestFirst<Row extends Created>(rows: Iterable<Row>): Row[] {
  return [...rows].toSorted((a, b) => a.CreateIndex - b.CreateIndex || compareText(a.ID, b.ID));
}

/** Compares by code unit, which is the same on every machine (no locale). */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
