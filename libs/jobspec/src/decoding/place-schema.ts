import { labelled, mapBlock, one, optional, type Schema, text, texts } from './schema.js';

const NO_BLOCKS = {} as const;

const poolSchema: Schema = {
  attributes: { description: text('Description'), node_identity_ttl: text('NodeIdentityTTL') },
  blocks: {
    meta: mapBlock('Meta', true),
    scheduler_config: one('SchedulerConfiguration', {
      attributes: {
        scheduler_algorithm: text('SchedulerAlgorithm'),
        memory_oversubscription_enabled: optional.bool('MemoryOversubscriptionEnabled'),
      },
      blocks: NO_BLOCKS,
    }),
  },
};

/** A file of node pools, each in the form of `PUT /v1/node/pools`. */
export const poolsSchema: Schema = {
  attributes: {},
  blocks: { node_pool: labelled('Pools', poolSchema, 'Name') },
};

const choiceSchema: Schema = {
  attributes: { default: text('Default'), allowed: texts('Allowed'), denied: texts('Denied') },
  blocks: NO_BLOCKS,
};

/** A namespace in the form of `PUT /v1/namespace`. */
export const namespaceSchema: Schema = {
  attributes: { name: text('Name', { required: true }), description: text('Description'), quota: text('Quota') },
  blocks: {
    meta: mapBlock('Meta', true),
    required_extra_claims: mapBlock('RequiredExtraClaims', true),
    optional_extra_claims: mapBlock('OptionalExtraClaims', true),
    capabilities: one('Capabilities', {
      attributes: {
        enabled_task_drivers: texts('EnabledTaskDrivers'),
        disabled_task_drivers: texts('DisabledTaskDrivers'),
        enabled_network_modes: texts('EnabledNetworkModes'),
        disabled_network_modes: texts('DisabledNetworkModes'),
      },
      blocks: NO_BLOCKS,
    }),
    node_pool_config: one('NodePoolConfiguration', choiceSchema),
    vault: one('VaultConfiguration', choiceSchema),
    consul: one('ConsulConfiguration', choiceSchema),
  },
};
