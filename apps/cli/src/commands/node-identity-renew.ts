import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { NODE, resolveUuid } from '../server/resolve-uuid.js';
import { Display } from '../terminal/display.js';

const DOING = 'requesting node identity renewal';

/** Makes a node ask for a new signed identity (AU-305). */
export const command: ServerCommand = {
  usage: '<node>',
  description:
    'Makes the agent of a node ask for a new signed identity with its next heartbeat.\n\nNeeds the capability ' +
    'node:write.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <node>' },
  async run(call) {
    const { ID: node_id } = await resolveUuid(
      call.api,
      { ...NODE, doing: DOING },
      call.args[0] ?? '',
      Display.of(call),
    );
    await call.api.put('/v1/client/identity/renew', {}, { node_id }).catch((error: unknown) => {
      throw failed(DOING, error);
    });
    return 0;
  },
};
