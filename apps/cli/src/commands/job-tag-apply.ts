import type { ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { tagPath } from '../jobs/job-versions.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Tags a version of a job, by default the current one (CL-343). */
export const command: ServerCommand = {
  usage: '<job>',
  description:
    'Gives a version of a job a name, with which you can revert to it. The version is kept until the name is ' +
    'removed.\n\nNeeds the capability submit-job.',
  flags: [
    { name: 'name', kind: 'text', value: 'tag', help: 'The name. Required.' },
    { name: 'description', kind: 'text', value: 'text', help: 'Description of the version.' },
    { name: 'version', kind: 'text', value: 'n', help: 'The version (default: the current one).' },
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async ({ args, flags, terminal, api: root }) => {
    const name = flags.text('name');
    if (name === undefined) throw new CommandFailure('A version tag name is required');
    const given = flags.text('version');
    if (given !== undefined && !/^\d{1,15}$/.test(given))
      throw new CommandFailure(`Error parsing version: "${given}" is not a whole number`);
    const found = await resolveJob(root, args[0] ?? '');
    const api = root.within({ namespace: found.namespace });
    const fail = (error: unknown): never => {
      throw failed('tagging job version', error);
    };
    const version =
      given === undefined
        ? (await api.get<{ Version: number }>(jobPath(found.id)).catch(fail)).value.Version
        : Number(given);
    const body = { Version: version, Description: flags.text('description') ?? '' };
    await api.put(tagPath(found.id, name), body).catch(fail);
    terminal.print(`Job version ${version} tagged with name "${name}"`);
    return 0;
  },
};
