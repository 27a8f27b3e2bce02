import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The program of this system that opens addresses. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', '""'],
};
const DEFAULT_OPENER = ['xdg-open'];

/** Opens an address in the user's browser, without waiting for it to close. Rejects when there is no way to. */
export async function openInBrowser(address: string): Promise<void> {
  const [program = '', ...words] = OPENERS[process.platform] ?? DEFAULT_OPENER;
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  await once(child, 'spawn');
  child.unref();
}
