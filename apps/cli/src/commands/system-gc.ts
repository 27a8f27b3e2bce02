import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Starts garbage collection and prints nothing (CL-821). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Removes all ended objects that nothing depends on, whatever their age: jobs, evaluations, allocations, ' +
    'deployments and nodes. The work is done in the background.\n\nNeeds a management token.',
  flags: [],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api }) {
    await api.put('/v1/system/gc', {}).catch((error: unknown) => {
      throw failed('running system garbage-collection', error);
    });
    return 0;
  },
};
