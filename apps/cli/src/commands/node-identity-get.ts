import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { claimRows, type IdentityClaims } from '../nodes/identity-claims.js';
import { NODE, resolveUuid } from '../server/resolve-uuid.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display } from '../terminal/display.js';
import { table } from '../terminal/table.js';

const DOING = 'requesting node identity';

/** Shows the claims of a node's signed identity (AU-305). */
export const command: ServerCommand = {
  usage: '<node>',
  description:
    'Shows the claims of the signed identity by which the agent of a node proves itself to the servers, and not the ' +
    'identity itself.\n\nNeeds the capability node:read.',
  flags: DATA_FLAGS,
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <node>' },
  async run(call) {
    const { api, data, terminal } = call;
    const { ID: node_id } = await resolveUuid(
      call.api,
      { ...NODE, doing: DOING },
      call.args[0] ?? '',
      Display.of(call),
    );
    const { value, exact } = await api
      .get<{ Claims: IdentityClaims }>('/v1/client/identity', { node_id })
      .catch((error: unknown) => {
        throw failed(DOING, error);
      });
    if (data) data(exact);
    else terminal.print(table([['Claim Key', 'Claim Value'], ...claimRows(value.Claims)]));
    return 0;
  },
};
