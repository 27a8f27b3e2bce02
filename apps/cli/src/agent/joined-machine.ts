import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { CommandFailure } from '../failure.js';
import { programOf } from './agent-process.js';
import type { JoinedMachine } from './joined-start.js';

/**
 * Has the agent's program make the directory that of the machine that the token names. The token goes through a pipe: the
 * arguments of a process can be read by all users of the computer.
 * @param token `-`: it comes on stdin; undefined: the machine has joined earlier
 * @throws CommandFailure
 */
export async function joinedMachine(dataDir: string, token: string | undefined): Promise<JoinedMachine> {
  const given = token === '-' ? await text(process.stdin) : (token ?? '');
  const child = spawn(process.execPath, [programOf('agent', 'enrol/join-main.js'), dataDir], { stdio: 'pipe' });
  child.stdin.end(given);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (code !== 0) throw new CommandFailure(`Error joining: ${err.trim()}`);
  return JSON.parse(out) as JoinedMachine;
}
