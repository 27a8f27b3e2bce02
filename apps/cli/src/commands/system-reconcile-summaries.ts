import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Starts the recount of all summaries and prints nothing (CL-821). */
export const command: ServerCommand = {
  usage: '',
  description: 'Recounts the summaries of all jobs.\n\nNeeds a management token.',
  flags: [],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api }) {
    await api.put('/v1/system/reconcile/summaries', {}).catch((error: unknown) => {
      throw failed('running system summary reconciliation', error);
    });
    return 0;
  },
};
