import type { StepBudget } from '../evaluation/step-budget.js';
import { normalised } from '../evaluation/normal-form.js';
import { list, Mapping, type Value } from '../evaluation/value.js';
import { FunctionError } from './function-table.js';

const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/uy;

/** Decodes CSV into objects, with the names of the first line. @throws FunctionError */
export function csvDecoded(text: string, budget: StepBudget): Value {
  const [header, ...rows] = rowsOf(text, budget);
  if (!header) throw new FunctionError('missing header line');
  if (new Set(header).size < header.length) throw new FunctionError('duplicate column name');
  return list(
    rows.map((row, at) => {
      if (row.length !== header.length) throw new FunctionError(`record on line ${at + 2}: wrong number of fields`);
      return new Mapping(
        'object',
        header.map((name, column) => [name, row[column] ?? '']),
      );
    }),
  );
}

function rowsOf(text: string, budget: StepBudget): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length) {
    budget.spend(1);
    const found = FIELD.exec(text);
    if (!found) throw new FunctionError('a quote stands where none may');
    const [, quoted, plain = '', end] = found;
    row.push(normalised(quoted === undefined ? plain : quoted.replaceAll('""', '"')));
    if (end === ',' && FIELD.lastIndex < text.length) continue;
    if (end === ',') row.push('');
    // Empty lines are skipped.
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}
