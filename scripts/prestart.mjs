// `npm start` and `npm run service` run this first. A checkout that was built once is built again, with its types; a fresh
// one is only transpiled, so that a newcomer does not wait for the compiler.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { packageFolders } from './packages.mjs';
import { root } from './source-tree.mjs';

const built = packageFolders().every((folder) => existsSync(path.join(folder, 'dist/.tsbuildinfo')));
if (built) {
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-b'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
} else {
  if (!existsSync(path.join(root, 'dist/bundle'))) console.log('Preparing programs and pages for the first start …');
  const { transpileChanged } = await import('./transpile.mjs');
  try {
    await transpileChanged();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
await import('./bundles.mjs');
