import { z } from 'zod';
import { TaskConfigError } from './driver.js';

/** Parses a list of strings. It converts numbers and booleans, because job files contain `args = ["--port", 8080]`. */
export const texts = z.array(z.union([z.string(), z.number(), z.boolean()], 'a string is wanted').transform(String));

/** Parses a task's configuration with its driver's schema (AG-104). @throws TaskConfigError that names every problem */
export function checkedConfig<S extends z.ZodType>(
  driver: string,
  schema: S,
  config: Readonly<Record<string, unknown>>,
): z.output<S> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(
        (key) => `unknown key "${[...issue.path, key].join('.')}" in the configuration of ${driver}`,
      );
    const at = issue.path.join('.');
    return [issue.message.startsWith(at) && at !== '' ? issue.message : `${at}: ${issue.message}`];
  });
  throw new TaskConfigError(problems.join('; '));
}
