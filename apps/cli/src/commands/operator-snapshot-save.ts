import { saveSnapshot } from '../operator/saved-snapshot.js';
import type { Call, ServerCommand } from '../command-spec.js';

/** Saves the cluster's state to a new file, which gets its name once it is verified (OP-50). */
export const command: ServerCommand = {
  usage: '[<file>]',
  description:
    'Saves the state of the whole cluster at one index to a file for `operator snapshot restore`. The file gets ' +
    'its name once it is complete and verified. The default name is nomad-state-<yyyymmdd>-<unix>.snap.\n\nNeeds ' +
    'the capability operator:snapshot-save.',
  flags: [{ name: 'stale', kind: 'switch', help: 'Any server may answer, which is always the case here.' }],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: [<file>]' },
  withoutNamespace: true,
  run,
};

async function run({ api, args, flags, clock, terminal }: Call): Promise<number> {
  const file = args[0] ?? nameAt(clock.nowMs());
  await saveSnapshot(api, file, flags.on('stale'));
  terminal.print(`State file written to ${file}`);
  return 0;
}

/** Returns a file name with the date in UTC. */
const nameAt = (nowMs: number): string =>
  `nomad-state-${new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', '')}-${Math.floor(nowMs / 1000)}.snap`;
