import { writeFile } from 'node:fs/promises';
import { causeOf, CommandFailure } from '../failure.js';
import type { OfflineCommand } from '../command-spec.js';
import { EXAMPLE_JOB, SHORT_EXAMPLE_JOB } from '../jobs/example-job.js';

const DEFAULT_FILE = 'example.nomad.hcl';

/** Writes an example job file (CL-360). The flags for job templates in variables are not implemented. */
export const command: OfflineCommand = {
  usage: '[<file>]',
  alias: 'init',
  description: `Writes an example job file that runs on any machine. The file is ${DEFAULT_FILE} unless named; an existing one stays untouched.`,
  flags: [
    { name: 'short', kind: 'switch', help: 'Omit comments and optional settings.' },
    { name: 'connect', kind: 'switch', help: 'Refused: there is no service mesh.' },
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <file>' },
  offline: true,
  run: async ({ flags, args, terminal }) => {
    if (flags.on('connect'))
      throw new CommandFailure('Waybill has no service mesh: there is no example with -connect.');
    const [file = DEFAULT_FILE] = args;
    await create(file, flags.on('short') ? SHORT_EXAMPLE_JOB : EXAMPLE_JOB);
    terminal.print(`Example job file written to ${file}`);
    return 0;
  },
};

/** @throws CommandFailure if the file exists or cannot be written */
async function create(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content, { flag: 'wx', mode: 0o660 });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new CommandFailure(exists ? `Job '${file}' already exists` : `Failed to write '${file}': ${causeOf(error)}`);
  }
}
