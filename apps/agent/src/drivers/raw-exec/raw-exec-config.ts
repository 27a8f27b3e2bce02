import { accessSync, chmodSync, constants, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { StartError, TaskConfigError, type TaskPaths } from '../driver.js';

/** AG-271. */
export interface RawExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly workDir: string | undefined;
}

const KEYS = new Set([
  'command',
  'args',
  'work_dir',
  'oom_score_adj',
  'denied_envvars',
  'cgroup_v2_override',
  'cgroup_v1_override',
]);

/** @throws TaskConfigError */
export function rawExecConfig(config: Readonly<Record<string, unknown>>): RawExecConfig {
  for (const key of Object.keys(config))
    if (!KEYS.has(key)) throw new TaskConfigError(`unknown key "${key}" in the configuration of raw_exec`);
  const { command, args = [], work_dir: workDir, oom_score_adj: oomScoreAdj = 0 } = config;
  if (typeof command !== 'string' || command === '') throw new TaskConfigError('command is required');
  if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string'))
    throw new TaskConfigError('args must be a list of strings');
  if (workDir !== undefined && (typeof workDir !== 'string' || !path.isAbsolute(workDir)))
    throw new TaskConfigError('work_dir must be an absolute path');
  if (typeof oomScoreAdj !== 'number' || oomScoreAdj < 0)
    throw new TaskConfigError('oom_score_adj must not be negative');
  if (config['cgroup_v1_override'] !== undefined && config['cgroup_v2_override'] !== undefined)
    throw new TaskConfigError('only one of cgroups_v1_override and cgroups_v2_override may be set');
  return { command, args: args as string[], workDir };
}

/** AG-273: where the command is. @throws StartError, not recoverable */
export function findCommand(command: string, paths: TaskPaths, searchPath: string): string {
  for (const dir of [paths.localDir, paths.taskDir]) {
    const file = path.join(dir, command);
    if (isInside(file, paths.taskDir) && isFile(file)) return madeExecutable(file);
  }
  if (path.isAbsolute(command)) {
    if (isExecutable(command)) return command;
  } else if (!command.includes('/')) {
    const found = searchPath
      .split(':')
      .map((dir) => path.join(dir || '.', command))
      .find(isExecutable);
    if (found !== undefined) return path.resolve(found);
  }
  throw new StartError(`executable file not found: ${command} is neither in the task's directory nor in $PATH`);
}

const isInside = (file: string, dir: string): boolean =>
  path.resolve(file).startsWith(`${path.resolve(dir)}${path.sep}`);

function madeExecutable(file: string): string {
  if (!isExecutable(file)) chmodSync(file, statSync(file).mode | 0o111);
  return file;
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isExecutable(file: string): boolean {
  if (!isFile(file)) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** AG-274: ids of the task's user. @throws StartError when there is none of that name */
export function userIds(user: string): { uid: number; gid: number } | undefined {
  if (user === '') return undefined;
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name, , uid]) => name === user || uid === user);
  if (!entry) throw new StartError(`failed to find the user "${user}"`);
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}
