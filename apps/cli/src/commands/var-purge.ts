import type { ServerCommand } from '../command-spec.js';
import { forbidWildcard, variableUrl, writeFailure } from '../variables/variable.js';

/** Deletes a variable (CL-853). */
export const command: ServerCommand = {
  usage: '<path>',
  description: 'Deletes a variable permanently.\n\nNeeds the capability destroy of its path.',
  flags: [{ name: 'check-index', kind: 'integer', value: 'n', help: 'Only if the last write was at this index.' }],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <path>' },
  async run(call) {
    const { api, args, flags, terminal } = call;
    const [path = ''] = args;
    forbidWildcard(call);
    const checkIndex = flags.integer('check-index')?.toString();
    await api.delete(variableUrl(path), { cas: checkIndex }).catch((error: unknown) => {
      throw writeFailure(
        'purging variable',
        error,
        checkIndex,
        (present) => `To delete it as it is now, use -check-index=${present}, or leave the flag out.`,
      );
    });
    terminal.print(`Successfully purged variable "${path}"!`);
    return 0;
  },
};
