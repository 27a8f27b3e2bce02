import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { TriedProgram } from './tried-plugin.js';

const MAX_OUTPUT_CHARS = 4_096;
/** The longest time until a program without its cookie has ended. */
const ENDS_WITHIN_MS = 10_000;

/** Starts a plugin as a person would, who does not know that an agent has to. It is killed if it does not end. */
export async function ranWithoutCookie(
  { file, args, env }: TriedProgram,
  cwd: string,
  signal: AbortSignal,
): Promise<{ ended: boolean; output: string }> {
  const child = spawn(file, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(0, MAX_OUTPUT_CHARS);
    });
  const exited = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(true));
    child.once('exit', () => resolve(true));
  });
  const waiting = new AbortController();
  const late = pause(ENDS_WITHIN_MS, false, { signal: AbortSignal.any([signal, waiting.signal]) }).catch(() => false);
  const ended = await Promise.race([exited, late]);
  waiting.abort();
  if (!ended && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  return { ended, output };
}
