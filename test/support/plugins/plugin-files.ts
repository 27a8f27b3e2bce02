import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (file: string): string => fileURLToPath(new URL(`../../../${file}`, import.meta.url));

/** The programs of plugins that tests use, as `npm run build` has built them. */
export const PLUGIN_PROGRAMS = {
  command: at('examples/plugins/dist/command-driver.js'),
  sleep: at('examples/plugins/dist/sleep-driver.js'),
  directory: at('examples/plugins/dist/directory-device.js'),
  faulty: at('test/support/plugins/faulty-plugin.mjs'),
} as const;

/** Makes an executable file in a plugin directory that runs one of the programs. @returns its path */
export function installPlugin(dir: string, name: string, program: keyof typeof PLUGIN_PROGRAMS): string {
  mkdirSync(dir, { recursive: true });
  const file = path.join(dir, name);
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${PLUGIN_PROGRAMS[program]}' "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}
