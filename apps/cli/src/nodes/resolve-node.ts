import { readAgentSelf } from '../agent/agent-self.js';
import type { Call } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import type { NodeAnswer } from './node-sections.js';
import { NODE, resolveUuid } from '../server/resolve-uuid.js';

/** The flag `-self`. */
export const SELF_FLAG = { name: 'self', kind: 'switch', help: 'The node of the agent at the address.' } as const;

/**
 * Returns the node of a command: that of the agent at the address with `-self` (CL-502), otherwise by its prefix.
 * @param kind wording of a failed lookup
 * @throws CommandFailure
 */
export async function nodeIdOf(call: Call, kind = NODE): Promise<string> {
  if (!call.flags.on('self')) return (await resolveUuid(call.api, kind, call.args[0] ?? '', Display.of(call))).ID;
  const { value } = await readAgentSelf(call.api).catch((error: unknown) => {
    throw failed('querying agent info', error);
  });
  const id = value.stats?.['client']?.['node_id'];
  if (!id) throw new CommandFailure('Waybill not running in client mode');
  return id;
}

export async function readNode({ api }: Pick<Call, 'api'>, id: string, doing: string): Promise<NodeAnswer> {
  const { value } = await api.get<NodeAnswer>(`/v1/node/${id}`).catch((error: unknown) => {
    throw failed(doing, error);
  });
  return value;
}

/** The flag `-node-id`. */
export const NODE_ID_FLAG = {
  name: 'node-id',
  kind: 'text',
  value: 'id',
  help: 'ID of the node, or a prefix of it.',
} as const;

/** Returns the full ID for `-node-id`, or undefined without the flag. @throws CommandFailure */
export async function namedNodeId(call: Call): Promise<string | undefined> {
  const given = call.flags.text(NODE_ID_FLAG.name);
  if (given === undefined) return undefined;
  const kind = { ...NODE, tooShort: 'Node ID must contain at least two characters.' };
  return (await resolveUuid(call.api, kind, given, Display.of(call))).ID;
}
