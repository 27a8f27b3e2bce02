// Puts the pages into dist/ui of the root, where the API finds them: hashed names, and each text compressed beforehand.
//
//   node apps/ui/bundle.mjs      does nothing while no source, package or setting changed
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = path.join(here, '../..');
const folder = path.join(root, 'dist/ui');

/** @param {string} file */
const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** @param {string} of @returns {string[]} files below a folder, and the folders, whose times tell of removed files */
function below(of) {
  const entries = readdirSync(of, { recursive: true, withFileTypes: true });
  return [of, ...entries.map((entry) => path.join(entry.parentPath, entry.name))];
}

function isNewest() {
  const sources = [
    ...below(path.join(here, 'src')),
    ...['index.html', 'bundle.mjs', 'package.json'].map((file) => path.join(here, file)),
    path.join(root, 'package-lock.json'),
  ];
  const madeMs = changedMs(path.join(folder, 'index.html'));
  return sources.every((file) => changedMs(file) < madeMs);
}

async function bundle() {
  const { build } = await import('vite');
  const made = `${folder}.new`;
  await build({
    root: here,
    base: '/ui/',
    configFile: false,
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic' } },
    css: { modules: { generateScopedName: '[local]_[hash:base64:5]' } },
    worker: { format: 'es' },
    build: {
      target: 'es2022',
      outDir: made,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 1_000,
    },
  });
  for (const file of below(made).filter((one) => /\.(js|css|html|svg)$/.test(one))) {
    const text = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
    writeFileSync(`${file}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
  }
  // In one step, so that an API which starts meanwhile finds all of the pages or none.
  rmSync(folder, { recursive: true, force: true });
  renameSync(made, folder);
}

if (!isNewest()) await bundle();
