import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from './environment.js';

/** The program of each system that opens addresses. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', '""'],
};
const DEFAULT_OPENER = ['xdg-open'];

/**
 * Opens an address in the user's browser, without waiting for it to close. Uses the program of BROWSER, or the
 * system's. Rejects if there is none.
 */
export async function openInBrowser(address: string, env: Environment): Promise<void> {
  const named = env['BROWSER'];
  const [program = '', ...words] = named ? [named] : (OPENERS[process.platform] ?? DEFAULT_OPENER);
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  await once(child, 'spawn');
  child.unref();
}
