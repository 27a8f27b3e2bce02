import { canonicalJson } from './canonical-json.js';
import { createHash } from 'node:crypto';
import { compareText } from './row-order.js';
import type { StateMachine } from './state-machine.js';
import { TABLE_NAMES, type Tables } from './tables.js';

/**
 * One text per state: two copies at the same index must agree on it (ST-3). Covers the applied index, every row and
 * every table index; not the request window, which copies may start at different ends of. Independent of the order of
 * rows and of members. O(state): for tests, and for comparing copies by hand.
 */
export function stateDigest(machine: Pick<StateMachine, 'tables' | 'appliedIndex'>): string {
  const hash = createHash('sha256');
  hash.update(`${machine.appliedIndex}\n`);
  for (const line of digestLines(machine.tables)) hash.update(line);
  return hash.digest('hex');
}

/** What is hashed, line by line: compare these to find where two copies differ. */
export function* digestLines(tables: Tables): Generator<string> {
  for (const name of TABLE_NAMES) {
    const table = tables[name];
    yield `${name} ${table.size} ${table.tableIndex}\n`;
    yield* rowLines(table.entries());
  }
}

function* rowLines(rows: Iterable<readonly [string, object]>): Generator<string> {
  const sorted = [...rows].toSorted(([a], [b]) => compareText(a, b));
  for (const [key, row] of sorted) yield `${JSON.stringify(key)} ${canonicalJson(row)}\n`;
}
