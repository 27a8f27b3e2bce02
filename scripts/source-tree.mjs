// Which files of the repository the tools look at.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const NOT_OURS = new Set(['node_modules', 'dist', '.git', '.waybill']);

/**
 * Files below a folder whose name matches, as paths from the root with forward slashes, in a stable order.
 *
 * @param {string} folder
 * @param {RegExp} name
 * @returns {string[]}
 */
export function filesBelow(folder, name) {
  /** @type {import('node:fs').Dirent[]} */
  let entries;
  try {
    entries = readdirSync(path.join(root, folder), { withFileTypes: true });
  } catch {
    return [];
  }
  return entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(file, name);
      return name.test(entry.name) ? [file] : [];
    });
}

/** @param {string} file path from the root */
export const textOf = (file) => readFileSync(path.join(root, file), 'utf8');

/** Types of the API's answers, which scripts/ui-contract.mjs writes. */
export const CONTRACT = 'apps/ui/src/api/contract.ts';

const TEST_FOLDERS = ['libs', 'apps', 'test', 'scripts', 'bench'];

export const testFiles = () => TEST_FOLDERS.flatMap((folder) => filesBelow(folder, /\.(spec|test)\.tsx?$/));

export const referenceFiles = () => filesBelow('docs/reference', /\.md$/);

/** Pages for people: those of the root, of docs/, and beside the code. */
export const pages = () => filesBelow('.', /\.md$/);
