import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from './source-tree.mjs';

/** @returns {string[]} folders of the packages whose sources become JavaScript beside them; the pages have a bundler of their own */
export function packageFolders() {
  const folders = ['apps', 'libs'].flatMap((group) =>
    readdirSync(path.join(root, group)).map((name) => `${group}/${name}`),
  );
  return [...folders, 'examples/plugins']
    .filter((folder) => folder !== 'apps/ui')
    .map((folder) => path.join(root, folder))
    .filter((folder) => existsSync(path.join(folder, 'src')));
}
