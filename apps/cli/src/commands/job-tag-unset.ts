import type { ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { tagPath } from '../jobs/job-versions.js';
import { resolveJob } from '../jobs/resolve-job.js';

/** Removes a tag from a job (CL-343). */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Removes the name of a version of a job.\n\nNeeds the capability submit-job.',
  flags: [{ name: 'name', kind: 'text', value: 'tag', help: 'The name. Required.' }],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async ({ args, flags, terminal, api }) => {
    const name = flags.text('name');
    if (name === undefined) throw new CommandFailure('A version tag name is required');
    const found = await resolveJob(api, args[0] ?? '');
    await api
      .within({ namespace: found.namespace })
      .delete(tagPath(found.id, name))
      .catch((error: unknown) => {
        throw failed('untagging job version', error);
      });
    terminal.print(`Tag "${name}" removed from job "${found.id}"`);
    return 0;
  },
};
