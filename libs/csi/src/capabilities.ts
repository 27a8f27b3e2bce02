/** Capabilities of plugins. Numbers without a name here are ignored (CW-7, VL-216). */

export const CONTROLLER_CAPABILITIES = [
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'LIST_VOLUMES',
  'GET_CAPACITY',
  'CREATE_DELETE_SNAPSHOT',
  'LIST_SNAPSHOTS',
  'CLONE_VOLUME',
  'PUBLISH_READONLY',
  'EXPAND_VOLUME',
  'LIST_VOLUMES_PUBLISHED_NODES',
  'VOLUME_CONDITION',
  'GET_VOLUME',
] as const;
export type ControllerCapability = (typeof CONTROLLER_CAPABILITIES)[number];

export const NODE_CAPABILITIES = [
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'VOLUME_CONDITION',
] as const;
export type NodeCapability = (typeof NODE_CAPABILITIES)[number];

export const PLUGIN_CAPABILITIES = ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS'] as const;
export type PluginCapability = (typeof PLUGIN_CAPABILITIES)[number];

/**
 * A capability. The type is a name, or a number if the plugin is newer than the schema. An entry without a type means
 * nothing.
 */
export interface WireServiceCapabilities {
  readonly capabilities: readonly { readonly rpc: { readonly type: string | number } | null }[];
}
export interface WirePluginCapabilities {
  readonly capabilities: readonly { readonly service: { readonly type: string | number } | null }[];
}

export const controllerCapabilities = (answer: WireServiceCapabilities): ReadonlySet<ControllerCapability> =>
  known(
    CONTROLLER_CAPABILITIES,
    answer.capabilities.map(({ rpc }) => rpc?.type),
  );

export const nodeCapabilities = (answer: WireServiceCapabilities): ReadonlySet<NodeCapability> =>
  known(
    NODE_CAPABILITIES,
    answer.capabilities.map(({ rpc }) => rpc?.type),
  );

export const pluginCapabilities = (answer: WirePluginCapabilities): ReadonlySet<PluginCapability> =>
  known(
    PLUGIN_CAPABILITIES,
    answer.capabilities.map(({ service }) => service?.type),
  );

function known<T extends string>(names: readonly T[], given: readonly unknown[]): ReadonlySet<T> {
  return new Set(names.filter((name) => given.includes(name)));
}
