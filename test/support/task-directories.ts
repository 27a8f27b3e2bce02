import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { TaskConfig } from '@waybill/agent';

/** Makes the directories of a task `web` of one allocation, as the agent makes them before a driver starts the task. */
export function makeTaskDirectories(dir: string, allocId: string): TaskConfig['paths'] {
  const at = (name: string) => path.join(dir, allocId, name);
  const paths = {
    allocDir: at('alloc'),
    logsDir: at('alloc/logs'),
    taskDir: at('web'),
    localDir: at('web/local'),
    secretsDir: at('web/secrets'),
    privateDir: at('web/private'),
  };
  for (const made of Object.values(paths)) mkdirSync(made, { recursive: true });
  for (const open of [paths.allocDir, paths.localDir]) chmodSync(open, 0o777);
  return paths;
}
