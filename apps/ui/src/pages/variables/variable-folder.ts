import type { VariableMetadata } from '../../api/contract.js';

/** FolderEntry is a row of the list of variables: a variable, or all of those whose paths continue in the same way. */
export type FolderEntry =
  | { readonly kind: 'variable'; readonly name: string; readonly variable: VariableMetadata }
  | { readonly kind: 'folder'; readonly name: string; readonly path: string; readonly count: number };

/**
 * Returns what is in a folder: folders first, each by name. A folder is the part of paths up to a slash; it exists as
 * long as a variable does.
 * @param folder empty for all variables, or a path that ends with a slash
 */
export function entriesOf(variables: readonly VariableMetadata[], folder: string): readonly FolderEntry[] {
  const folders = new Map<string, number>();
  const own: FolderEntry[] = [];
  for (const variable of variables) {
    if (!variable.Path.startsWith(folder)) continue;
    const rest = variable.Path.slice(folder.length);
    const end = rest.indexOf('/');
    if (end < 0) own.push({ kind: 'variable', name: rest, variable });
    else folders.set(rest.slice(0, end), (folders.get(rest.slice(0, end)) ?? 0) + 1);
  }
  const inner = [...folders].map(([name, count]): FolderEntry => ({
    kind: 'folder',
    name,
    path: `${folder}${name}/`,
    count,
  }));
  const byName = (a: FolderEntry, b: FolderEntry): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  return [...inner.toSorted(byName), ...own.toSorted(byName)];
}

/** Returns the folders above a path, the outermost first: `a/b/c` has `a/` and `a/b/`. */
export function foldersAbove(path: string): readonly { readonly name: string; readonly path: string }[] {
  const names = path.split('/').slice(0, -1);
  return names.map((name, at) => ({ name, path: `${names.slice(0, at + 1).join('/')}/` }));
}
