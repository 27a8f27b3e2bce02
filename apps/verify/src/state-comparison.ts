import {
  canonicalJson,
  stateDigest,
  TABLE_NAMES,
  type StateMachine,
  type TableName,
  type Tables,
} from '@waybill/state';

/** Differences kept per table; the rest are counted. */
export const MAX_DIFFERENCES = 10;

/** One row that the two copies do not agree on. */
export interface RowDifference {
  readonly key: string;
  readonly kind: 'missing' | 'unexpected' | 'different';
  /** Members that differ, for `different`. */
  readonly members: readonly string[];
}

export interface TableComparison {
  readonly table: TableName;
  readonly rows: number;
  readonly differences: number;
  readonly examples: readonly RowDifference[];
  /** Set when the tables' own indexes differ. */
  readonly tableIndexes: readonly [expected: number, actual: number] | null;
}

export interface StateReport {
  readonly ok: boolean;
  /** Both copies are at this index. */
  readonly index: number;
  readonly digests: { readonly log: string; readonly postgres: string };
  readonly tables: readonly TableComparison[];
  /** Rows that Postgres refused to store in their tables: they are part of what is compared. */
  readonly setAside: number;
}

type Copy = Pick<StateMachine, 'tables' | 'appliedIndex'>;

/**
 * Compares the state that the log makes with the rows of the projection, both at the same index, table by table.
 * Pure. Cost: all rows.
 */
export function compareStates(fromLog: Copy, fromPostgres: Copy, setAside = 0): StateReport {
  const tables = TABLE_NAMES.map((name) => compareTable(name, fromLog.tables, fromPostgres.tables));
  const digests = { log: stateDigest(fromLog), postgres: stateDigest(fromPostgres) };
  return { ok: digests.log === digests.postgres, index: fromLog.appliedIndex, digests, tables, setAside };
}

function compareTable(table: TableName, expected: Tables, actual: Tables): TableComparison {
  const wanted = new Map<string, object>(expected[table].entries());
  const found = new Map<string, object>(actual[table].entries());
  const examples: RowDifference[] = [];
  let differences = 0;
  const differ = (difference: RowDifference): void => {
    differences++;
    if (examples.length < MAX_DIFFERENCES) examples.push(difference);
  };
  for (const [key, row] of wanted) {
    const other = found.get(key);
    if (!other) differ({ key, kind: 'missing', members: [] });
    else if (canonicalJson(row) !== canonicalJson(other))
      differ({ key, kind: 'different', members: membersThatDiffer(row, other) });
  }
  for (const key of found.keys()) if (!wanted.has(key)) differ({ key, kind: 'unexpected', members: [] });
  const [a, b] = [expected[table].tableIndex, actual[table].tableIndex];
  return { table, rows: wanted.size, differences, examples, tableIndexes: a === b ? null : [a, b] };
}

function membersThatDiffer(a: object, b: object): string[] {
  const left = new Map<string, unknown>(Object.entries(a));
  const right = new Map<string, unknown>(Object.entries(b));
  return [...new Set([...left.keys(), ...right.keys()])].filter(
    (member) => canonicalJson(left.get(member)) !== canonicalJson(right.get(member)),
  );
}
