import type { ServerCommand } from '../command-spec.js';
import { ArgumentFailure, failed } from '../failure.js';
import { NODE_ID_FLAG, namedNodeId } from '../nodes/resolve-node.js';

/** Sets and removes dynamic metadata of a node (CL-523). */
export const command: ServerCommand = {
  usage: '[<key>=<value>…]',
  description:
    "Changes metadata of a node while it runs. A key without a value is set to empty. A key of the agent's " +
    'configuration gets its configured value back if it is neither set nor unset.\n\nNeeds the capability ' +
    'node:write.',
  flags: [NODE_ID_FLAG, { name: 'unset', kind: 'text', value: 'key,…', help: 'Keys to remove.' }],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  async run(call) {
    const { api, args, flags } = call;
    const unset = (flags.text('unset') ?? '').split(',').filter((key) => key !== '');
    if (unset.length + args.length === 0) throw new ArgumentFailure('Must specify -unset or at least 1 key=value pair');
    const Meta = Object.fromEntries([...unset.map((key) => [key, null] as const), ...args.map(pairOf)]);
    const node_id = await namedNodeId(call);
    await api.put('/v1/client/metadata', { Meta }, { node_id }).catch((error: unknown) => {
      throw failed('applying dynamic node metadata', error);
    });
    return 0;
  },
};

function pairOf(text: string): readonly [string, string] {
  const [key = '', ...value] = text.split('=');
  return [key, value.join('=')];
}
