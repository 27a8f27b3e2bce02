import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { sortedList } from '../nodes/node-sections.js';
import { NODE_ID_FLAG, namedNodeId } from '../nodes/resolve-node.js';

/**
 * Metadata of a node: all effective entries, the entries changed at run time (null for a removed one), and the
 * configured ones.
 */
interface NodeMeta {
  readonly Meta: Readonly<Record<string, string>> | null;
  readonly Dynamic: Readonly<Record<string, string | null>> | null;
  readonly Static: Readonly<Record<string, string>> | null;
}

/** Shows all metadata of a node, then its dynamic and static part (CL-523). */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows the metadata of a node and its sources.\n\nNeeds the capability node:read.',
  flags: [NODE_ID_FLAG, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run(call) {
    const { api, data, terminal } = call;
    const node_id = await namedNodeId(call);
    const { value, exact } = await api.get<NodeMeta>('/v1/client/metadata', { node_id }).catch((error: unknown) => {
      throw failed('reading dynamic node metadata', error);
    });
    if (data) {
      data(exact);
      return 0;
    }
    const changed = Object.entries(value.Dynamic ?? {}).map(([key, text]) => [key, text ?? '<unset>'] as const);
    terminal.section('All Meta');
    terminal.print(sortedList(value.Meta));
    terminal.section('Dynamic Meta');
    terminal.print(sortedList(Object.fromEntries(changed)));
    terminal.section('Static Meta');
    terminal.print(sortedList(value.Static));
    return 0;
  },
};
