import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { PROJECTION_PATH } from '../operator/set-aside-rows.js';
import { readSnapshot } from '../operator/snapshot-file.js';
import { refusal } from '../terminal/confirmation.js';

const REBUILD_PATH = `${PROJECTION_PATH}/rebuild`;

/** Response of the rebuild. */
interface Rebuilt {
  readonly Index: number;
  readonly HistoryFrom: number;
}

export const command: ServerCommand = {
  usage: '[file]',
  description:
    'Rebuilds the database from the log after its files were damaged. Nothing else is affected: tasks continue, ' +
    'and scheduling continues. Reads wait until the rebuild is complete, which takes as long as reading the ' +
    'log.\n\nA log whose beginning was trimmed needs a saved state that is newer: name its file. History before it ' +
    'is lost then.\n\nNeeds a management token.',
  flags: [{ name: 'yes', kind: 'switch', help: 'Do not ask.' }],
  takes: { min: 0, max: 1, otherwise: 'This command takes one argument at most: <file>' },
  withoutNamespace: true,
  async run(call) {
    const { api, flags, terminal } = call;
    const [file] = call.args;
    const archive = file === undefined ? undefined : await readSnapshot(file);
    const question = `Fill the database anew from ${archive ? `the saved state of index ${archive.meta.Index} and ` : ''}the log?`;
    const refused = flags.on('yes') ? undefined : await refusal(call, question, 'Nothing was changed');
    if (refused !== undefined) return refused;
    const text = await api.putBytes(REBUILD_PATH, archive?.bytes ?? Buffer.alloc(0)).catch((error: unknown) => {
      throw failed('filling the database anew', error);
    });
    const { Index, HistoryFrom } = JSON.parse(text) as Rebuilt;
    terminal.print(`The database is filled anew, up to index ${Index}; its history begins with index ${HistoryFrom}.`);
    return 0;
  },
};
