import { setOf, STRING } from '../evaluation/type.js';
import type { Value } from '../evaluation/value.js';
import { textOf } from './parameters.js';
import { FunctionError, type LanguageFunction } from './function-table.js';

/** Access to files of the machine that parses the job file. Relative paths start at the working directory (JS-91). */
export interface FileAccess {
  /** Returns undefined if there is no such file. */
  readonly read: (path: string) => Uint8Array | undefined;
  readonly exists: (path: string) => boolean;
  /** Returns the paths of matching files below `directory`, relative to it. */
  readonly matching: (directory: string, pattern: string) => readonly string[];
  readonly absolute: (path: string) => string;
  readonly base: (path: string) => string;
  readonly directory: (path: string) => string;
  /** Expands a leading `~` to the home directory. */
  readonly expanded: (path: string) => string;
}

type FileFunction = (files: FileAccess, path: string) => Value;

const FUNCTIONS: Readonly<Record<string, FileFunction>> = {
  abspath: (files, path) => files.absolute(path),
  basename: (files, path) => files.base(path),
  dirname: (files, path) => files.directory(path),
  pathexpand: (files, path) => files.expanded(path),
  fileexists: (files, path) => files.exists(path),
  file: (files, path) => {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(contentOf(files, path));
    } catch (error) {
      if (error instanceof TypeError) throw new FunctionError(`contents of ${path} are not valid UTF-8`);
      throw error;
    }
  },
  filebase64: (files, path) => Buffer.from(contentOf(files, path)).toString('base64'),
};

function contentOf(files: FileAccess, path: string): Uint8Array {
  const content = files.read(path);
  if (content === undefined) throw new FunctionError(`no file exists at ${path}`);
  return content;
}

/** Returns the file functions. Without access, each of them is an error, including those that read nothing (JS-90). */
export function fileFunctions(access: FileAccess | undefined): [string, LanguageFunction][] {
  const allowed = (): FileAccess => {
    if (access === undefined) throw new FunctionError('filesystem function disabled');
    return access;
  };
  const path = { name: 'path', type: STRING };
  const single = Object.entries(FUNCTIONS).map(([name, use]): [string, LanguageFunction] => [
    name,
    { parameters: [path], call: ([given]) => use(allowed(), textOf(given)) },
  ]);
  const fileset: LanguageFunction = {
    parameters: [path, { name: 'pattern', type: STRING }],
    call: ([directory, pattern]) => setOf([...allowed().matching(textOf(directory), textOf(pattern))]),
  };
  return [...single, ['fileset', fileset]];
}
