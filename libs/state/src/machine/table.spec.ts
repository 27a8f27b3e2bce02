import { describe, expect, it } from 'vitest';
import { Table } from './table.js';

interface Row {
  readonly ID: string;
  readonly colour: string | undefined;
}

const aTable = () => new Table<Row>('rows', (row) => row.ID, { colour: (row) => row.colour });
const ids = (rows: Iterable<Row>) => [...rows].map((row) => row.ID);

describe('a table', () => {
  it('finds rows by an index, through updates and removals', () => {
    const table = aTable();
    for (const ID of ['a', 'b', 'c']) table.replace(ID, { ID, colour: 'red' });
    expect(ids(table.by('colour', 'red'))).toEqual(['a', 'b', 'c']);
    table.replace('b', { ID: 'b', colour: 'blue' });
    table.replace('c', { ID: 'c', colour: undefined });
    expect([table.count('colour', 'red'), table.count('colour', 'blue'), table.count('colour', 'none')]).toEqual([
      1, 1, 0,
    ]);
    table.replace('a', undefined);
    expect([ids(table.by('colour', 'red')), ids(table.all()), table.size]).toEqual([[], ['b', 'c'], 2]);
    table.replace('c', { ID: 'c', colour: 'blue' });
    expect(ids(table.by('colour', 'blue'))).toEqual(['b', 'c']);
  });

  it('counts the rows of a value from none to several and back', () => {
    const table = aTable();
    const red = () => [table.count('colour', 'red'), ids(table.by('colour', 'red'))];
    table.replace('a', { ID: 'a', colour: 'red' });
    expect(red()).toEqual([1, ['a']]);
    table.replace('b', { ID: 'b', colour: 'red' });
    expect(red()).toEqual([2, ['a', 'b']]);
    table.replace('a', undefined);
    expect(red()).toEqual([1, ['b']]);
    table.replace('c', { ID: 'c', colour: 'red' });
    expect(red()).toEqual([2, ['b', 'c']]);
    table.replace('c', undefined);
    table.replace('b', { ID: 'b', colour: 'blue' });
    expect(red()).toEqual([0, []]);
    table.replace('d', { ID: 'd', colour: 'red' });
    expect(red()).toEqual([1, ['d']]);
  });

  it('shows an updated row through its index although its place did not change', () => {
    const table = aTable();
    table.replace('a', { ID: 'a', colour: 'red' });
    const next = { ID: 'a', colour: 'red' };
    table.replace('a', next);
    expect([...table.by('colour', 'red')][0]).toBe(next);
    expect(table.get('a')).toBe(next);
  });

  it('a row that an index cannot read leaves rows and indexes as they were', () => {
    const unreadable = new Table<Row>('rows', (row) => row.ID, {
      id: (row) => row.ID,
      colour: (row) => row.colour!.toLowerCase(),
    });
    unreadable.replace('a', { ID: 'a', colour: 'red' });
    const broken = (ID: string): Row => ({ ID, colour: null as never });
    for (const key of ['a', 'b']) expect(() => unreadable.replace(key, broken(`new ${key}`))).toThrow(TypeError);
    expect([...unreadable.entries()]).toEqual([['a', { ID: 'a', colour: 'red' }]]);
    expect(['a', 'new a', 'new b', 'b'].map((id) => unreadable.count('id', id))).toEqual([1, 0, 0, 0]);
    expect(unreadable.count('colour', 'red')).toBe(1);
  });

  it('removing what is not there is nothing, asking for an index it has not is a defect', () => {
    const table = aTable();
    table.replace('gone', undefined);
    expect(table.size).toBe(0);
    expect(() => [...table.by('size', '1')]).toThrow('table rows has no index size');
  });
});
