import { expect, it } from 'vitest';
import { directoriesOf, inside, sortedFiles } from './file-path.js';

it('knows the way to a directory, and into one', () => {
  expect(directoriesOf('/')).toEqual([{ name: '/', path: '/' }]);
  expect(directoriesOf('/alloc/logs').map(({ path }) => path)).toEqual(['/', '/alloc', '/alloc/logs']);
  expect([inside('/', 'alloc'), inside('/alloc', 'logs')]).toEqual(['/alloc', '/alloc/logs']);
});

it('lists directories first', () => {
  const file = (Name: string, IsDir: boolean) => ({ Name, IsDir, Size: 0, FileMode: '', ModTime: '' });
  const names = sortedFiles([file('b', false), file('z', true), file('a', false)]).map(({ Name }) => Name);
  expect(names).toEqual(['z', 'a', 'b']);
});
