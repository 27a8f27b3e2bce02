import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { isExecutable } from '../../drivers/find-command.js';
import { statOrNone } from '../../paths/stat-or-none.store.js';

export interface ProcessToExec {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  readonly tty: boolean;
}

/** NotStartableError says that a program cannot start. */
export class NotStartableError extends Error {
  override readonly name = 'NotStartableError';
}

/** The number of bytes at the beginning of a file that can name its interpreter. */
const SHEBANG_BYTES = 256;

/**
 * Refuses a program if the program, its directory or its interpreter is missing. The system would report only a number,
 * and in a terminal not even the file. It does not check a program that is found by `PATH`.
 * @throws NotStartableError
 */
export function refuseUnstartable({ file, cwd }: ProcessToExec): void {
  if (!statOrNone(cwd)?.isDirectory())
    throw new NotStartableError(`${file} cannot be run in ${cwd}: there is no such directory`);
  if (!path.isAbsolute(file)) return;
  if (!isExecutable(file)) throw new NotStartableError(`executable file not found: ${file}`);
  const interpreter = interpreterOf(file);
  if (interpreter !== undefined && !isExecutable(interpreter))
    throw new NotStartableError(`${file} cannot be run: its interpreter ${interpreter} is missing`);
}

/** Returns the interpreter of a script, or undefined if the file is no script or cannot be read. */
function interpreterOf(file: string): string | undefined {
  try {
    const fd = openSync(file, 'r');
    try {
      const head = Buffer.alloc(SHEBANG_BYTES);
      return /^#![ \t]*(\/[^ \t\n]+)/.exec(head.toString('latin1', 0, readSync(fd, head)))?.[1];
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
