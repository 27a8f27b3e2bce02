import path from 'node:path';
import { z } from 'zod';
import { checkConfig, type CheckedConfig, textsOr, whole } from './config-shape.js';

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

const listOf = (key: string) => textsOr(`${key} must be a list of strings`);

const workDir = 'work_dir must be an absolute path';
const v2 = 'cgroup_v2_override must be the path of a cgroup';
const v1 = 'cgroup_v1_override must name the path of a cgroup for each controller';
const oom = 'oom_score_adj must not be negative';

/** A block, or a list of blocks as in job files, of which each names controllers. */
const controllers = z.preprocess(
  (value) => [value].flat(),
  z
    .array(z.record(z.string(), z.string(v1).min(1, v1), v1))
    .transform((blocks) => blocks.flatMap((one) => Object.entries(one))),
);

const schema = z
  .strictObject({
    command: z.string({ error: 'command is required' }).min(1, 'command is required'),
    args: listOf('args').default([]),
    work_dir: z
      .string(workDir)
      .refine((dir) => path.isAbsolute(dir), workDir)
      .optional(),
    oom_score_adj: whole(
      z
        .number(oom)
        .min(0, oom)
        .refine(
          (score) => Number.isInteger(score) && score <= MAX_OOM_SCORE_ADJ,
          `oom_score_adj must be a whole number of at most ${MAX_OOM_SCORE_ADJ}`,
        ),
    ).optional(),
    denied_envvars: listOf('denied_envvars').default([]),
    cgroup_v2_override: z.string(v2).min(1, v2).optional(),
    cgroup_v1_override: controllers.optional(),
  })
  .refine(
    ({ cgroup_v1_override: one, cgroup_v2_override: two }) => one === undefined || two === undefined,
    'only one of cgroups_v1_override and cgroups_v2_override may be set',
  )
  .transform((given): RawExecConfig => ({
    command: given.command,
    args: given.args,
    workDir: given.work_dir,
    deniedVariables: given.denied_envvars,
    oomScoreAdj: given.oom_score_adj,
    cgroupV1: given.cgroup_v1_override ?? [],
    cgroupV2: given.cgroup_v2_override,
  }));

/** Checks the `config` of a `raw_exec` task (AG-271). */
export const checkRawExecConfig = (config: Readonly<Record<string, unknown>>): CheckedConfig<RawExecConfig> =>
  checkConfig('raw_exec', schema, config);
