import { canonicalJson } from './canonical-json.js';
import { createHash } from 'node:crypto';
import { compareText } from './row-order.js';
import type { StateMachine } from './state-machine.js';
import { TABLE_NAMES, type Tables } from './tables.js';

/**
 * A hash of the state: two copies at the same index must have the same one (ST-3). It covers the applied index, every
 * row and every table index, but not the request window, whose beginning may differ between copies. It does not depend
 * on the order of rows and members. O(state): for tests, and for comparing copies by hand.
 */
export function stateDigest(machine: Pick<StateMachine, 'tables' | 'appliedIndex'>): string {
  const hash = createHash('sha256');
  hash.update(`${machine.appliedIndex}\n`);
  for (const line of digestLines(machine.tables)) hash.update(line);
  return hash.digest('hex');
}

/** The lines that are hashed: compare these to find where two copies differ. */
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
