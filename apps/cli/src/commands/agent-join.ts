import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { AGENT_LOG_FLAGS, MACHINE_FLAGS } from '../agent/agent-flags.js';
import { inForeground } from '../agent/agent-foreground.js';
import { programOf } from '../agent/agent-process.js';
import { type JoinedMachine, joinedStart } from '../agent/joined-start.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { CommandFailure } from '../failure.js';

/** How this process is shown to other users of the computer, who must not read the token among its arguments. */
const TITLE = 'waybill agent join';

export const command: ServerCommand = {
  usage: '[<token>]',
  description:
    'Makes this computer a machine of the cluster whose "agent invite" has printed the token, and runs its node agent in the ' +
    'foreground. "-" reads the token from stdin. The directory keeps who the machine is: later starts need no token.\n\n' +
    'Ctrl-C stops the agent in order; its tasks go on, and the next start takes them up again.',
  flags: [
    { name: 'data-dir', kind: 'text', value: 'dir', help: 'Where the machine keeps everything.' },
    ...MACHINE_FLAGS,
    ...AGENT_LOG_FLAGS,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes at most one argument: <token>' },
  run,
};

async function run(call: Call): Promise<number> {
  process.title = TITLE;
  const dataDir = call.flags.text('data-dir');
  if (dataDir === undefined) throw new CommandFailure('Must specify where the machine keeps everything: -data-dir');
  const joined = await joinedMachine(dataDir, call.args[0]);
  return await inForeground(call, joinedStart(call.flags, joined), []);
}

/**
 * Has the agent's program make the directory that of the machine that the token names. The token goes through a pipe: the
 * arguments of a process can be read by all users of the computer.
 * @param token `-`: it comes on stdin; undefined: the machine has joined earlier
 * @throws CommandFailure
 */
async function joinedMachine(dataDir: string, token: string | undefined): Promise<JoinedMachine> {
  const given = token === '-' ? await text(process.stdin) : (token ?? '');
  const child = spawn(process.execPath, [programOf('agent', 'enrol/join-main.js'), dataDir], { stdio: 'pipe' });
  child.stdin.end(given);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (code !== 0) throw new CommandFailure(`Error joining: ${err.trim()}`);
  return JSON.parse(out) as JoinedMachine;
}
