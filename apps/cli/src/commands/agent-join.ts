import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { AGENT_LOG_FLAGS, MACHINE_FLAGS } from '../agent/agent-flags.js';
import { inForeground } from '../agent/agent-foreground.js';
import { programOf } from '../agent/agent-process.js';
import { type JoinedMachine, joinedStart } from '../agent/joined-start.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { CommandFailure } from '../failure.js';

/** Title of this process in the process list, because other users must not read the token in its arguments. */
const TITLE = 'waybill agent join';

export const command: ServerCommand = {
  usage: '[<token>]',
  description:
    'Makes this computer a machine of the cluster whose "agent invite" or "node intro create -nats" printed the ' +
    'token, and runs its node agent in the foreground. "-" reads the token from stdin. The directory stores the identity of the machine, ' +
    'so later starts need no token.\n\nCtrl-C stops the agent in order; its tasks go on, and the next start takes ' +
    'them up again.',
  flags: [
    { name: 'data-dir', kind: 'text', value: 'dir', help: 'Data directory of the machine.' },
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
 * Runs the agent's program to prepare the data directory for the machine that the token names. The token goes through a
 * pipe, because all users of the computer can read the arguments of a process.
 * @param token `-` to read it from stdin; undefined if the machine has already joined
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
