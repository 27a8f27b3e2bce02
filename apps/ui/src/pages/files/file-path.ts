import type { AllocFileInfo } from '../../api/contract.js';

/** Returns the directories above a path with itself, the outermost first; the root is `/`. */
export function directoriesOf(path: string): readonly { readonly name: string; readonly path: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return [
    { name: '/', path: '/' },
    ...names.map((name, at) => ({ name, path: `/${names.slice(0, at + 1).join('/')}` })),
  ];
}

export const inside = (directory: string, name: string): string =>
  directory.endsWith('/') ? `${directory}${name}` : `${directory}/${name}`;

/** Returns directories first, each by name. */
export const sortedFiles = (files: readonly AllocFileInfo[]): readonly AllocFileInfo[] =>
  files.toSorted((a, b) => Number(b.IsDir) - Number(a.IsDir) || (a.Name < b.Name ? -1 : a.Name > b.Name ? 1 : 0));
