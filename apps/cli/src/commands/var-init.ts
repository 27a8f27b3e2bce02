import { writeFile } from 'node:fs/promises';
import type { OfflineCommand } from '../command-spec.js';
import { causeOf, CommandFailure } from '../failure.js';
import { EXAMPLE_VARIABLE_HCL, EXAMPLE_VARIABLE_JSON } from '../variables/example-variable.js';

const MODE = 0o660;
const EXAMPLES: Readonly<Record<string, string>> = { hcl: EXAMPLE_VARIABLE_HCL, json: EXAMPLE_VARIABLE_JSON };

/** Writes an example specification of a variable, without a request (CL-853). */
export const command: OfflineCommand = {
  offline: true,
  usage: '[<file>]',
  description: 'Writes an example specification of a variable to a new file: spec.nv.hcl or spec.nv.json.',
  flags: [
    { name: 'out', kind: 'text', value: 'hcl|json', help: 'Language of the file (hcl).' },
    { name: 'quiet', kind: 'switch', help: 'Print nothing.' },
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes no arguments or one: <filename>' },
  async run({ flags, args, terminal }) {
    const language = flags.text('out') || 'hcl';
    const example = EXAMPLES[language];
    if (example === undefined) throw new CommandFailure('Invalid value for "-out"; valid values are [hcl, json]');
    const file = args[0] ?? `spec.nv.${language}`;
    await writeFile(file, example, { flag: 'wx', mode: MODE }).catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailure(
        error.code === 'EEXIST' ? `File "${file}" already exists` : `Failed to write "${file}": ${causeOf(error)}`,
      );
    });
    if (!flags.on('quiet')) terminal.print(`Example variable specification written to ${file}`);
    return 0;
  },
};
