import { accessSync, chmodSync, constants, lstatSync, statSync } from 'node:fs';
import path from 'node:path';
import { StartError } from './driver.js';
import { asAbsolute, isWithin } from '../paths/path-name.js';
import { statOrNone } from '../paths/stat-or-none.store.js';

/** TaskView describes how a task sees files. */
export interface TaskView {
  readonly localDir: string;
  readonly taskDir: string;
  /** Returns the path on the machine of a task's file, or undefined if the task has no such file. */
  onMachine(file: string): string | undefined;
}

/** Finds a command and returns its path as the task sees it (AG-273). @throws StartError, not recoverable */
export function findCommand(command: string, view: TaskView, searchPath: string): string {
  for (const dir of [view.localDir, view.taskDir]) {
    const file = path.normalize(`${dir}/${command}`); // the file counts only if it is inside the task's directory
    const there = isInside(file, view.taskDir) ? view.onMachine(file) : undefined;
    if (there !== undefined && isFile(there)) {
      makeExecutable(there);
      return file;
    }
  }
  const isThere = (file: string): boolean => isExecutable(view.onMachine(file));
  if (path.isAbsolute(command)) {
    if (isThere(command)) return command;
  } else if (!command.includes('/')) {
    const found = searchPath
      .split(':')
      .map((dir) => asAbsolute(`${dir || process.cwd()}/${command}`))
      .find(isThere);
    if (found !== undefined) return found;
  }
  throw new StartError(`executable file not found: ${command} is neither in the task's directory nor in $PATH`);
}

const isInside = (file: string, dir: string): boolean => file !== dir && isWithin(dir, file);

/** Leaves a link alone, because its target may not belong to the task. */
function makeExecutable(file: string): void {
  if (!isExecutable(file) && !lstatSync(file).isSymbolicLink()) chmodSync(file, statSync(file).mode | 0o111);
}

const isFile = (file: string): boolean => statOrNone(file)?.isFile() ?? false;

/** Says whether the path is a file that this process may execute. */
export function isExecutable(file: string | undefined): boolean {
  if (file === undefined || !isFile(file)) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
