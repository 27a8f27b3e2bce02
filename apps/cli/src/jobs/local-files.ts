import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { FileAccess } from '@waybill/jobspec';
import { compilePattern } from '@waybill/model';

/** File access for the file functions of a job file: this machine, from the working directory (JS-91). */
export const localFiles: FileAccess = {
  read: (file) => (isFile(expanded(file)) ? readFileSync(expanded(file)) : undefined),
  exists: (file) => isFile(expanded(file)),
  // `*` and `?` do not match a slash, and `**` does. path.matchesGlob has this rule, but is experimental in Node 20.
  matching: (directory, pattern) => {
    const expression = asExpression(pattern);
    return readdirSync(expanded(directory), { recursive: true, encoding: 'utf8' })
      .map((file) => file.split(path.sep).join('/'))
      .filter((file) => expression.test(file, () => {}) && isFile(path.join(expanded(directory), file)));
  },
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

/** Compiles a glob for the linear-time engine, because a job file may come from another person. */
function asExpression(pattern: string): ReturnType<typeof compilePattern> {
  const source = pattern.replaceAll(/\*\*\/|\*\*|[*?]|[.+^${}()|[\]\\]/gu, (part) => GLOB_PARTS[part] ?? `\\${part}`);
  return compilePattern(`^${source}$`);
}
