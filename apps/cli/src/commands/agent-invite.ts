import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { programOf } from '../agent/agent-process.js';
import { NO_ARGUMENTS, type OfflineCall, type OfflineCommand } from '../command-spec.js';

export const command: OfflineCommand = {
  usage: '',
  offline: true,
  description:
    'Creates an ID and a key for one more machine, admits it to the nats-server that "npm start" runs, and ' +
    'prints the command with which the machine joins. Run it on the computer of the cluster, as the user who ' +
    'started the cluster.\n\nThe token in the printed command is a secret: it holds the key of the machine.',
  flags: [
    { name: 'data-dir', kind: 'text', value: 'dir', help: 'Data directory of the cluster; default .waybill.' },
    {
      name: 'advertise',
      kind: 'text',
      value: 'address',
      help: 'Address at which the machine reaches this computer (default: that of nats-server).',
    },
  ],
  takes: NO_ARGUMENTS,
  run,
};

async function run({ flags }: OfflineCall): Promise<number> {
  const words = (['data-dir', 'advertise'] as const).flatMap((name) => {
    const value = flags.text(name);
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  const child = spawn(process.execPath, [programOf('dev', 'invite/main.js'), ...words], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
