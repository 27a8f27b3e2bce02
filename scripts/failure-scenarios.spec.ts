import { describe, expect, it } from 'vitest';
import { testFiles, textOf } from './source-tree.mjs';

const TABLE_ROW = /^\| (F\d+) \|/gm;
/** Titles of tests, also of tests with rows: `it('F1, …`, `it.each(rows)('F19: …`. */
const TITLE = /['"`]((?:F\d+|[A-Z]{2}-\d+)(?:, (?:F\d+|[A-Z]{2}-\d+))*)(?: \((F\d+)\))?:/g;

describe('the failure scenarios of the evaluations reference', () => {
  it('EB-335: each row of the table is a test', () => {
    const rows = [...textOf('docs/reference/evaluations.md').matchAll(TABLE_ROW)].map(([, id]) => id);
    expect(rows.length).toBeGreaterThan(40);
    const named = new Set(
      testFiles().flatMap((file: string) =>
        [...textOf(file).matchAll(TITLE)].flatMap(([, ids = '', more = '']) => [...ids.split(', '), more]),
      ),
    );
    expect(rows.filter((id) => !named.has(id ?? ''))).toEqual([]);
  });
});
