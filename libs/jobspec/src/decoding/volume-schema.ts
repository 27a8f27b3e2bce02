import type { Json, JsonObject } from './json.js';
import { many, mapBlock, one, type Schema, text, texts, type Written } from './schema.js';
import { constraintSchema } from './placement-schema.js';

const NO_BLOCKS = {} as const;
const CAPACITY = /^(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?))?b?$/i;
const POWER = ['k', 'm', 'g', 't', 'p', 'e'];

/**
 * Parses a size: `20G` and `20GB` are 20 times 10^9, `10GiB` is 10 times 2^30. Returns undefined for an invalid text.
 */
function bytesOf(size: string): number | undefined {
  const [, amount, prefix = '', binary] = CAPACITY.exec(size.trim()) ?? [];
  if (amount === undefined) return undefined;
  const base = binary ? 1024 : 1000;
  return Math.round(Number(amount) * base ** (POWER.indexOf(prefix.toLowerCase()) + 1));
}

/** Returns the sizes of `capacity_min` and `capacity_max` under their JSON keys. */
function capacities({ values, refuse }: Written, min: string, max: string): JsonObject {
  const size = (attribute: string): Json => {
    const written = values.get(attribute);
    if (typeof written !== 'string' || written === '') return 0;
    const bytes = bytesOf(written);
    if (bytes === undefined)
      refuse('Invalid capacity', `${attribute}: "${written}" is not a size such as "10GiB".`, attribute);
    return bytes ?? 0;
  };
  return { [min]: size('capacity_min'), [max]: size('capacity_max') };
}

const withoutHelpers = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([key]) => !key.startsWith('$')));

const capabilitySchema: Schema = {
  attributes: { access_mode: text('AccessMode'), attachment_mode: text('AttachmentMode') },
  blocks: NO_BLOCKS,
};
const topologiesSchema: Schema = {
  attributes: {},
  blocks: { topology: many('Topologies', { attributes: {}, blocks: { segments: mapBlock('Segments', true) } }) },
};
const topologyRequestSchema: Schema = {
  attributes: {},
  blocks: { required: one('$required', topologiesSchema), preferred: one('$preferred', topologiesSchema) },
  shape: (json) => ({ Required: listed(json['$required']), Preferred: listed(json['$preferred']) }),
};

function listed(side: Json | undefined): Json {
  const isBlock = typeof side === 'object' && side !== null && !Array.isArray(side);
  return isBlock ? (side['Topologies'] ?? null) : null;
}

/** `capacity_min` and `capacity_max` become numbers. `type` selects the schema and is left out. */
const COMMON: Schema['attributes'] = {
  type: text('$type'),
  namespace: text('Namespace'),
  id: text('ID'),
  name: text('Name'),
  plugin_id: text('PluginID'),
  capacity_min: text('$capacity_min'),
  capacity_max: text('$capacity_max'),
};

/** A CSI volume in the form of `/v1/volume/csi/:id`. */
export const csiVolumeSchema: Schema = {
  attributes: {
    ...COMMON,
    external_id: text('ExternalID'),
    snapshot_id: text('SnapshotID'),
    clone_id: text('CloneID'),
  },
  blocks: {
    capability: many('RequestedCapabilities', capabilitySchema),
    mount_options: one('MountOptions', {
      attributes: { fs_type: text('FSType'), mount_flags: texts('MountFlags') },
      blocks: NO_BLOCKS,
    }),
    topology_request: one('RequestedTopologies', topologyRequestSchema),
    secrets: mapBlock('Secrets', true),
    parameters: mapBlock('Parameters', true),
    context: mapBlock('Context', true),
  },
  shape: (json, written) => ({
    ...withoutHelpers(json),
    ...capacities(written, 'RequestedCapacityMin', 'RequestedCapacityMax'),
  }),
};

/** A dynamic host volume in the form of `/v1/volume/host/create`. */
export const hostVolumeSchema: Schema = {
  attributes: { ...COMMON, node_id: text('NodeID'), node_pool: text('NodePool'), host_path: text('HostPath') },
  blocks: {
    capability: many('RequestedCapabilities', capabilitySchema),
    constraint: many('Constraints', constraintSchema),
    parameters: mapBlock('Parameters', true),
  },
  shape: (json, written) => ({
    ...withoutHelpers(json),
    ...capacities(written, 'RequestedCapacityMinBytes', 'RequestedCapacityMaxBytes'),
  }),
};
