import type { Environment } from '../server/environment.js';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeDirectorySync } from '@waybill/processes';
import { completionScript, type Shell, startCommand } from './completion-scripts.js';
import { causeOf } from '../failure.js';
import type { Terminal } from '../terminal/terminal.js';

/** Start files of the shells. fish has one file per program, the others have one for everything. */
const START_FILES: readonly (readonly [Shell, (home: string, program: string) => string])[] = [
  ['bash', (home) => path.join(home, '.bashrc')],
  ['zsh', (home) => path.join(home, '.zshrc')],
  ['fish', (home, program) => path.join(home, '.config', 'fish', 'completions', `${program}.fish`)],
];

/** Adds the hook to the start files of the user's shells, or removes it (CL-175). Resolves with the exit code. */
export function changeHooks(
  change: 'install' | 'uninstall',
  called: string,
  env: Environment,
  terminal: Terminal,
): number {
  const program = path.basename(called, '.js');
  const home = env['HOME'] ?? '';
  const files = START_FILES.map(([shell, file]) => ({
    shell,
    file: file(home, program),
    text: completionScript(shell, program, startCommand(called, process.execPath)),
  })).filter(({ shell, file }) =>
    shell === 'fish' ? existsSync(path.join(home, '.config', 'fish')) : existsSync(file),
  );
  if (files.length === 0) {
    terminal.error(`No start file of bash, zsh or fish found in "${home}"`);
    return 1;
  }
  let failures = 0;
  for (const hook of files) {
    try {
      if (change === 'install' ? install(hook) : uninstall(hook)) continue;
      terminal.error(`${hook.file} ${change === 'install' ? 'has the hook already' : 'does not have the hook'}`);
    } catch (error) {
      terminal.error(`${hook.file}: ${causeOf(error)}`);
    }
    failures++;
  }
  return failures === 0 ? 0 : 1;
}

interface Hook {
  readonly shell: Shell;
  readonly file: string;
  readonly text: string;
}

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

function install({ file, text }: Hook): boolean {
  const before = textOf(file);
  if (before.includes(text)) return false;
  makeDirectorySync(path.dirname(file));
  appendFileSync(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${text}\n`);
  return true;
}

function uninstall({ shell, file, text }: Hook): boolean {
  const before = textOf(file);
  if (!before.includes(text)) return false;
  if (shell === 'fish') rmSync(file);
  else writeFileSync(file, before.replace(`${text}\n`, ''));
  return true;
}
