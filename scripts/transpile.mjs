// Turns the sources of all packages into JavaScript without looking at their types, which takes a tenth of the compiler's
// time. `npm start` on a fresh checkout uses it (scripts/prestart.mjs); `npm run build`, tests and releases use `tsc -b`.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transform } from 'rolldown/utils';
import { packageFolders } from './packages.mjs';

/** The file beside `.tsbuildinfo` whose time says when this script last began to write into the folder. */
const STAMP = '.transpiled';
/** Files that are transpiled at a time. */
const BATCH = 200;

/** @type {import('rolldown/utils').TransformOptions} the settings of tsconfig.base.json */
const OPTIONS = {
  lang: 'ts',
  sourceType: 'module',
  target: 'es2023',
  sourcemap: true,
  decorator: { legacy: true, emitDecoratorMetadata: true },
  tsconfig: false,
};

/** @param {string} file */
const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** @param {string} folder of a package @returns {{ source: string, output: string }[]} sources that are newer than their output */
function changedSources(folder) {
  const from = path.join(folder, 'src');
  return readdirSync(from, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.d)\.ts$/.test(file) && !file.endsWith('.spec.ts'))
    .map((file) => ({ source: path.join(from, file), output: path.join(folder, 'dist', file.replace(/\.ts$/, '.js')) }))
    .filter(({ source, output }) => changedMs(source) >= changedMs(output));
}

/** @param {{ source: string, output: string }} file */
async function transpile({ source, output }) {
  const { code, map, errors } = await transform(source, readFileSync(source, 'utf8'), OPTIONS);
  const [error] = errors;
  if (error !== undefined) throw new Error(`cannot transpile ${source}: ${error.message}`);
  mkdirSync(path.dirname(output), { recursive: true });
  const sources = [path.relative(path.dirname(output), source)];
  writeFileSync(`${output}.map`, JSON.stringify({ ...map, file: path.basename(output), sources }));
  writeFileSync(output, `${code}//# sourceMappingURL=${path.basename(output)}.map\n`);
}

/**
 * Transpiles the sources that changed since their output was written.
 *
 * @param {string[]} folders of packages
 * @returns {Promise<number>} how many
 * @throws {Error} which names the file, for one that is not TypeScript
 */
export async function transpileChanged(folders = packageFolders()) {
  let count = 0;
  for (const folder of folders) {
    const changed = changedSources(folder);
    if (changed.length > 0) {
      mkdirSync(path.join(folder, 'dist'), { recursive: true });
      // Before the output, so that a bundle is older than the stamp also after a Ctrl-C.
      writeFileSync(path.join(folder, 'dist', STAMP), '');
    }
    for (let at = 0; at < changed.length; at += BATCH) await Promise.all(changed.slice(at, at + BATCH).map(transpile));
    count += changed.length;
  }
  return count;
}
