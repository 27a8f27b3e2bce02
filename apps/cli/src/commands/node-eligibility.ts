import type { Call, ServerCommand } from '../command-spec.js';
import { ArgumentFailure, failed } from '../failure.js';
import { nodeIdOf, SELF_FLAG } from '../nodes/resolve-node.js';
import { NODE } from '../server/resolve-uuid.js';

export const command: ServerCommand = {
  usage: '<node>',
  description:
    'Sets whether the scheduler may place new allocations on a node. Running ones are not affected.\n\nNeeds the ' +
    'capability node:write.',
  flags: [
    { name: 'disable', kind: 'switch', help: 'Forbid new allocations on the node.' },
    { name: 'enable', kind: 'switch', help: 'Allow new allocations on the node.' },
    SELF_FLAG,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes one argument: <node>' },
  run,
};

/** Sets whether the scheduler may place allocations on a node (CL-521). */
async function run(call: Call): Promise<number> {
  const enable = call.flags.on('enable');
  if (enable === call.flags.on('disable'))
    throw new ArgumentFailure("Either the '-enable' or '-disable' flag must be set");
  if (call.flags.on('self') === (call.args.length === 1))
    throw new ArgumentFailure("Node ID must be specified if -self isn't being used");
  const doing = 'updating scheduling eligibility';
  const NodeID = await nodeIdOf(call, { ...NODE, doing });
  const Eligibility = enable ? 'eligible' : 'ineligible';
  await call.api.put(`/v1/node/${NodeID}/eligibility`, { NodeID, Eligibility }).catch((error: unknown) => {
    throw failed(doing, error);
  });
  call.terminal.print(`Node "${NodeID}" scheduling eligibility set: ${Eligibility} for scheduling`);
  return 0;
}
