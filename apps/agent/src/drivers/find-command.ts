import { accessSync, chmodSync, constants, lstatSync, statSync } from 'node:fs';
import path from 'node:path';
import { StartError } from './driver.js';
import { asAbsolute, isWithin } from '../paths/path-name.js';
import { statOrNone } from '../paths/stat-or-none.store.js';

/** How a task sees files. */
export interface TaskView {
  readonly localDir: string;
  readonly taskDir: string;
  /** Where on the machine a file is that the task sees as `file`; undefined: it sees none there. */
  onMachine(file: string): string | undefined;
}

/** Finds a command, and gives its path as the task sees it (AG-273). @throws StartError, not recoverable */
export function findCommand(command: string, view: TaskView, searchPath: string): string {
  for (const dir of [view.localDir, view.taskDir]) {
    const file = path.normalize(`${dir}/${command}`); // looked at only inside the task's directory
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

/** A link is left alone: where it leads is not the task's to change. */
function makeExecutable(file: string): void {
  if (!isExecutable(file) && !lstatSync(file).isSymbolicLink()) chmodSync(file, statSync(file).mode | 0o111);
}

const isFile = (file: string): boolean => statOrNone(file)?.isFile() ?? false;

/** A file, and no directory, that this process may run. */
export function isExecutable(file: string | undefined): boolean {
  if (file === undefined || !isFile(file)) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
