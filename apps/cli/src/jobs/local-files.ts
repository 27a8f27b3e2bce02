import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { FileAccess } from '@waybill/jobspec';

/** What the file functions of a job file see: this machine, from the working directory (JS-91). */
export const localFiles: FileAccess = {
  read: (file) => (isFile(expanded(file)) ? readFileSync(expanded(file)) : undefined),
  exists: (file) => isFile(expanded(file)),
  // `*` and `?` stop at a slash, `**` does not: the rule of path.matchesGlob, which Node 20 has as experimental only.
  matching: (directory, pattern) =>
    readdirSync(expanded(directory), { recursive: true, encoding: 'utf8' })
      .map((file) => file.split(path.sep).join('/'))
      .filter((file) => asExpression(pattern).test(file) && isFile(path.join(expanded(directory), file))),
  absolute: (file) => path.resolve(file),
  base: (file) => path.basename(file),
  directory: (file) => path.dirname(file),
  expanded,
};

function isFile(file: string): boolean {
  return existsSync(file) && statSync(file).isFile();
}

function expanded(file: string): string {
  return file === '~' || file.startsWith('~/') ? path.join(homedir(), file.slice(1)) : file;
}

const GLOB_PARTS: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

function asExpression(pattern: string): RegExp {
  const source = pattern.replaceAll(/\*\*\/|\*\*|[*?]|[.+^${}()|[\]\\]/gu, (part) => GLOB_PARTS[part] ?? `\\${part}`);
  return new RegExp(`^${source}$`, 'u');
}
