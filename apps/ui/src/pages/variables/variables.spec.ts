import { describe, expect, it } from 'vitest';
import { itemsOf, problemsOf, rowsOf } from './variable-items.js';
import { entriesOf, foldersAbove } from './variable-folder.js';

const at = (Path: string) => ({
  Path,
  Namespace: 'default',
  CreateIndex: 1,
  CreateTime: 1,
  ModifyIndex: 1,
  ModifyTime: 1,
});
const ALL = [at('nomad/jobs/web'), at('nomad/jobs/web/server'), at('nomad/jobs/api'), at('motd'), at('a')];
const namesIn = (folder: string) => entriesOf(ALL, folder).map(({ kind, name }) => `${kind} ${name}`);

describe('folders of variables', () => {
  it('shows folders first, with the number of variables in them', () => {
    expect(namesIn('')).toEqual(['folder nomad', 'variable a', 'variable motd']);
    expect(entriesOf(ALL, '')[0]).toEqual({ kind: 'folder', name: 'nomad', path: 'nomad/', count: 3 });
  });

  it('a variable and a folder may have the same name', () => {
    expect(namesIn('nomad/jobs/')).toEqual(['folder web', 'variable api', 'variable web']);
    expect(namesIn('nomad/jobs/web/')).toEqual(['variable server']);
  });

  it('knows the way to the top', () => {
    expect(foldersAbove('nomad/jobs/web').map(({ path }) => path)).toEqual(['nomad/', 'nomad/jobs/']);
    expect(foldersAbove('nomad/jobs/').map(({ path }) => path)).toEqual(['nomad/', 'nomad/jobs/']);
    expect(foldersAbove('motd')).toEqual([]);
  });
});

describe('items of a variable', () => {
  it('come back as they were, whatever their names', () => {
    const items = { b: '2', a: ' 1\n', ['__proto__x']: '' };
    expect(itemsOf(rowsOf(items))).toEqual(items);
    expect(rowsOf(items).map(({ key }) => key)).toEqual(['__proto__x', 'a', 'b']);
  });

  it('says what has to be filled in before it is saved', () => {
    const row = (key: string, id: number) => ({ id, key, value: 'v' });
    expect(problemsOf('a', [row('k', 1)])).toEqual([]);
    expect(problemsOf(' ', [row('k', 1)])).toEqual(['Give the variable a path.']);
    expect(problemsOf('a', [])).toEqual(['Add an item: a variable has at least one.']);
    expect(problemsOf('a', [row('k', 1), row('k', 2), row('', 3)])).toEqual([
      'Give every item a key.',
      'The key k is there twice.',
    ]);
  });
});
