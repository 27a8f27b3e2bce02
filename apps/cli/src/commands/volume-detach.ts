import type { NodeListStub, WireCSIVolume } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { csiVolumePath, resolveCSIVolume } from '../volumes/csi-volume-stub.js';
import { Display } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import { nodeTable } from '../nodes/node-table.js';

const DOING = 'detaching volume';

/** Detaches a CSI volume from a node, which may no longer exist (CL-709). */
export const command: ServerCommand = {
  usage: '<volume> <node>',
  description:
    'Releases the claims of ended allocations of a node on a volume. The node may no longer exist.\n\nNeeds the ' +
    'capability csi-mount-volume.',
  flags: [],
  takes: { min: 2, max: 2, otherwise: 'This command takes two arguments: <volume> <node>' },
  async run(call) {
    const { args } = call;
    const { ID, Namespace } = await resolveCSIVolume(call, args[0] ?? '');
    const api = call.api.within({ namespace: Namespace });
    const node = await nodeOf({ ...call, api }, args[1] ?? '', ID);
    await api.delete(`${csiVolumePath(ID)}/detach`, { node }).catch((error: unknown) => {
      throw failed(DOING, error);
    });
    return 0;
  },
};

/**
 * Returns the node's ID. A node that no longer exists is found by the allocations that ran on it, and otherwise the
 * given ID is used. @throws CommandFailure
 */
async function nodeOf(call: Call, given: string, volumeId: string): Promise<string> {
  const { value } = await call.api
    .get<NodeListStub[] | null>('/v1/nodes', { prefix: given })
    .catch((error: unknown) => {
      throw failed(DOING, error);
    });
  const nodes = value ?? [];
  const [first] = nodes;
  if (nodes.length > 1)
    throw new CommandFailure(`Prefix matched multiple nodes\n\n${nodeTable(nodes, Display.of(call))}`);
  if (first) return first.ID;
  const volume = await call.api.get<WireCSIVolume>(csiVolumePath(volumeId)).catch((error: unknown) => {
    throw failed(DOING, error);
  });
  const gone = new Set(volume.value.Allocations.map(({ NodeID }) => NodeID).filter((id) => id.startsWith(given)));
  if (gone.size > 1) throw new CommandFailure(`Prefix matched multiple nodes\n\n${[...gone].join('\n')}`);
  return [...gone][0] ?? given;
}
