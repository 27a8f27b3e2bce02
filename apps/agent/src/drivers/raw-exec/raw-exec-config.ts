import path from 'node:path';
import { TaskConfigError } from '../driver.js';
import { texts } from '../task-config.js';

/** RawExecConfig is the checked `config` of a `raw_exec` task (AG-271). */
export interface RawExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly workDir: string | undefined;
  /** Patterns of variables that the task may not see (AG-272). */
  readonly deniedVariables: readonly string[];
  /** The priority with which the system kills the task when memory runs out; undefined means that of the agent. */
  readonly oomScoreAdj: number | undefined;
  /** The task's cgroup in the tree of each controller. */
  readonly cgroupV1: readonly (readonly [controller: string, inside: string])[];
  /** The task's cgroup in the tree of version 2. */
  readonly cgroupV2: string | undefined;
}

/** The system's maximum. */
const MAX_OOM_SCORE_ADJ = 1_000;

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
  const { command, work_dir: workDir, oom_score_adj: oomScoreAdj } = config;
  if (typeof command !== 'string' || command === '') throw new TaskConfigError('command is required');
  const [args, deniedVariables] = [textsOf(config, 'args'), textsOf(config, 'denied_envvars')];
  if (workDir !== undefined && (typeof workDir !== 'string' || !path.isAbsolute(workDir)))
    throw new TaskConfigError('work_dir must be an absolute path');
  const { cgroup_v1_override: v1, cgroup_v2_override: cgroupV2 } = config;
  if (v1 !== undefined && cgroupV2 !== undefined)
    throw new TaskConfigError('only one of cgroups_v1_override and cgroups_v2_override may be set');
  if (cgroupV2 !== undefined && (typeof cgroupV2 !== 'string' || cgroupV2 === ''))
    throw new TaskConfigError('cgroup_v2_override must be the path of a cgroup');
  const [cgroupV1, oom] = [controllersOf(v1), scoreOf(oomScoreAdj)];
  return { command, args, workDir, deniedVariables, oomScoreAdj: oom, cgroupV1, cgroupV2 };
}

function scoreOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || value < 0) throw new TaskConfigError('oom_score_adj must not be negative');
  if (!Number.isInteger(value) || value > MAX_OOM_SCORE_ADJ)
    throw new TaskConfigError(`oom_score_adj must be a whole number of at most ${MAX_OOM_SCORE_ADJ}`);
  return value;
}

/** Returns the controllers of a block, or of a list of blocks as in job files. */
function controllersOf(value: unknown): [string, string][] {
  if (value === undefined) return [];
  return [value].flat().flatMap((block: unknown) => {
    const controllers = typeof block === 'object' && block !== null ? Object.entries(block) : undefined;
    if (!controllers?.every((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== ''))
      throw new TaskConfigError('cgroup_v1_override must name the path of a cgroup for each controller');
    return controllers;
  });
}

function textsOf(config: Readonly<Record<string, unknown>>, key: string): string[] {
  const parsed = texts.safeParse(config[key] ?? []);
  if (!parsed.success) throw new TaskConfigError(`${key} must be a list of strings`);
  return parsed.data;
}
