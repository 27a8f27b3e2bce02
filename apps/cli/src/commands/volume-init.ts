import { writeFile } from 'node:fs/promises';
import type { OfflineCommand } from '../command-spec.js';
import {
  EXAMPLE_HOST_VOLUME_HCL,
  EXAMPLE_HOST_VOLUME_JSON,
  EXAMPLE_VOLUME_HCL,
  EXAMPLE_VOLUME_JSON,
} from '../volumes/example-volume.js';
import { causeOf, CommandFailure } from '../failure.js';

const MODE = 0o660;
const EXAMPLES: Readonly<Record<string, { readonly hcl: string; readonly json: string }>> = {
  csi: { hcl: EXAMPLE_VOLUME_HCL, json: EXAMPLE_VOLUME_JSON },
  host: { hcl: EXAMPLE_HOST_VOLUME_HCL, json: EXAMPLE_HOST_VOLUME_JSON },
};

/** Writes an example volume to a new file (CL-706). */
export const command: OfflineCommand = {
  offline: true,
  usage: '[<file>]',
  description: 'Writes an example volume to a new file: volume.hcl or volume.json.',
  flags: [
    { name: 'type', kind: 'text', value: 'csi|host', help: 'Kind of the volume (csi).' },
    { name: 'json', kind: 'switch', help: 'Write JSON in the form of the API.' },
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes no arguments or one: <filename>' },
  async run({ flags, args, terminal }) {
    const type = flags.text('type') ?? 'csi';
    const example = EXAMPLES[type];
    if (!example) throw new CommandFailure(`No such volume type "${type}"`);
    const language = flags.on('json') ? 'json' : 'hcl';
    const file = args[0] ?? `volume.${language}`;
    await writeFile(file, example[language], { flag: 'wx', mode: MODE }).catch((error: NodeJS.ErrnoException) => {
      const exists = error.code === 'EEXIST';
      throw new CommandFailure(
        exists ? `Volume specification "${file}" already exists` : `Failed to write "${file}": ${causeOf(error)}`,
      );
    });
    terminal.print(`Example volume specification written to ${file}`);
    return 0;
  },
};
