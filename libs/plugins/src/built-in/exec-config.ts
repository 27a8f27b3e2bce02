import path from 'node:path';
import { z } from 'zod';
import { checkConfig, type CheckedConfig, texts } from './config-shape.js';

const list = texts.default([]);
/** An empty text means the default. */
const mode = z.preprocess(
  (value) => (value === '' ? undefined : value),
  z.enum(['private', 'host']).default('private'),
);

/** The keys that an `exec` task's `config` may have (AG-280). */
const schema = z.strictObject({
  command: z.string({ error: 'command is required' }).min(1, 'command is required'),
  args: list,
  work_dir: z
    .string()
    .refine((dir) => path.isAbsolute(dir), 'work_dir must be an absolute path')
    .default('/'),
  pid_mode: mode,
  ipc_mode: mode,
  cap_add: list,
  cap_drop: list,
});

export type ExecConfig = z.output<typeof schema>;

/** Checks the `config` of an `exec` task (AG-280). */
export const checkExecConfig = (config: Readonly<Record<string, unknown>>): CheckedConfig<ExecConfig> =>
  checkConfig('exec', schema, config);
