import path from 'node:path';
import { TaskConfigError } from '../driver.js';

/** AG-271. */
export interface RawExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly workDir: string | undefined;
  /** Variables that the task is not to see, by pattern (AG-272). */
  readonly deniedVariables: readonly string[];
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
  const { command, args = [], denied_envvars: denied = [], work_dir: workDir, oom_score_adj: oomScoreAdj = 0 } = config;
  if (typeof command !== 'string' || command === '') throw new TaskConfigError('command is required');
  if (!isTexts(args)) throw new TaskConfigError('args must be a list of strings');
  if (!isTexts(denied)) throw new TaskConfigError('denied_envvars must be a list of strings');
  if (workDir !== undefined && (typeof workDir !== 'string' || !path.isAbsolute(workDir)))
    throw new TaskConfigError('work_dir must be an absolute path');
  if (typeof oomScoreAdj !== 'number' || oomScoreAdj < 0)
    throw new TaskConfigError('oom_score_adj must not be negative');
  if (config['cgroup_v1_override'] !== undefined && config['cgroup_v2_override'] !== undefined)
    throw new TaskConfigError('only one of cgroups_v1_override and cgroups_v2_override may be set');
  return { command, args, workDir, deniedVariables: denied };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
