import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Deletes one registration of a service (CL-861). */
export const command: ServerCommand = {
  usage: '<service> <id>',
  description: 'Deletes one registration of a service. Its agent does not register it again by itself.',
  flags: [],
  takes: { min: 2, max: 2, otherwise: 'This command takes two arguments: <service_name> and <service_id>' },
  async run({ api, args, terminal }) {
    const [name = '', id = ''] = args.map(encodeURIComponent);
    await api.delete(`/v1/service/${name}/${id}`).catch((error: unknown) => {
      throw failed('deleting service registration', error);
    });
    terminal.print('Successfully deleted service registration');
    return 0;
  },
};
