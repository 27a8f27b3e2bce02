import { writeFile } from 'node:fs/promises';
import type { OfflineCommand } from '../command-spec.js';
import { causeOf, CommandFailure } from '../failure.js';
import { EXAMPLE_HCL, EXAMPLE_JSON } from '../nodes/node-pool-file.js';

const MODE = 0o660;
const LANGUAGES: Readonly<Record<string, { readonly file: string; readonly text: string }>> = {
  hcl: { file: 'pool.nomad.hcl', text: EXAMPLE_HCL },
  json: { file: 'pool.nomad.json', text: EXAMPLE_JSON },
};

/** Writes an example node pool to a new file (CL-532). */
export const command: OfflineCommand = {
  offline: true,
  usage: '[<file>]',
  description: 'Writes an example node pool to a new file.',
  flags: [
    { name: 'out', kind: 'text', value: 'hcl|json', help: 'Language of the file (hcl).' },
    { name: 'quiet', kind: 'switch', help: 'Print nothing after the write.' },
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes no arguments or one: <filename>' },
  async run({ flags, args, terminal }) {
    const out = flags.text('out') ?? 'hcl';
    const language = LANGUAGES[out];
    if (!language) throw new CommandFailure(`Invalid value for -out: "${out}", use "hcl" or "json"`);
    const file = args[0] ?? language.file;
    await writeFile(file, language.text, { flag: 'wx', mode: MODE }).catch((error: NodeJS.ErrnoException) => {
      const exists = error.code === 'EEXIST';
      throw new CommandFailure(
        exists ? `File "${file}" already exists` : `Failed to write "${file}": ${causeOf(error)}`,
      );
    });
    if (!flags.on('quiet')) terminal.print(`Example node pool specification written to ${file}`);
    return 0;
  },
};
