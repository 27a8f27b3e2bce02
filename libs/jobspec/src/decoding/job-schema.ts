import { groupSchema } from './group-schema.js';
import { inheritedBlocks } from './inherited-blocks.js';
import { affinitySchema, constraintSchema, spreadSchema } from './placement-schema.js';
import { migrateSchema, rescheduleSchema, secretSchema, updateSchema, vaultSchema } from './policy-schema.js';
import { labelled, many, mapBlock, one, optional, type Schema, text, texts } from './schema.js';
import { taskSchema } from './task-schema.js';

const periodicSchema: Schema = {
  attributes: {
    enabled: optional.bool('Enabled', { canonical: true }),
    cron: optional.text('Spec', { canonical: '' }),
    crons: texts('Specs', { canonical: [] }),
    prohibit_overlap: optional.bool('ProhibitOverlap', { canonical: false }),
    time_zone: optional.text('TimeZone', { canonical: 'UTC' }),
  },
  blocks: {},
  shape: (json, { values }) => ({ ...json, SpecType: values.has('cron') || values.has('crons') ? 'cron' : null }),
};

const parameterizedSchema: Schema = {
  attributes: { payload: text('Payload'), meta_required: texts('MetaRequired'), meta_optional: texts('MetaOptional') },
  blocks: {},
};

const regionSchema: Schema = {
  attributes: {
    count: optional.integer('Count', { canonical: 1 }),
    datacenters: texts('Datacenters', { canonical: [] }),
    node_pool: text('NodePool'),
  },
  blocks: { meta: mapBlock('Meta') },
};

const multiregionSchema: Schema = {
  attributes: {},
  blocks: {
    strategy: one('Strategy', {
      attributes: {
        max_parallel: optional.integer('MaxParallel', { canonical: 0 }),
        on_failure: optional.text('OnFailure', { canonical: '' }),
      },
      blocks: {},
    }),
    region: labelled('Regions', regionSchema, 'Name', ''),
  },
};

const uiSchema: Schema = {
  attributes: { description: text('Description') },
  blocks: { link: many('Links', { attributes: { label: text('Label'), url: text('URL') }, blocks: {} }) },
};

/** Keys of a job that no file sets (JS-130). */
const SERVER_KEYS = {
  Stop: null,
  ParentID: null,
  Dispatched: false,
  DispatchIdempotencyToken: null,
  Payload: null,
  ConsulNamespace: null,
  VaultNamespace: null,
  NomadTokenID: null,
  Status: null,
  StatusDescription: null,
  Stable: null,
  Version: null,
  SubmitTime: null,
  CreateIndex: null,
  ModifyIndex: null,
  JobModifyIndex: null,
  VersionTag: null,
};

export const jobSchema: Schema = {
  attributes: {
    id: optional.text('ID'),
    name: optional.text('Name'),
    region: optional.text('Region', { canonical: 'global' }),
    namespace: optional.text('Namespace', { canonical: 'default' }),
    type: optional.text('Type', { canonical: 'service' }),
    priority: optional.integer('Priority', { canonical: 50 }),
    all_at_once: optional.bool('AllAtOnce', { canonical: false }),
    datacenters: texts('Datacenters'),
    node_pool: optional.text('NodePool', { canonical: '' }),
  },
  blocks: {
    group: labelled('TaskGroups', groupSchema, 'Name'),
    task: labelled('$tasks', taskSchema, 'Name'),
    constraint: many('Constraints', constraintSchema),
    affinity: many('Affinities', affinitySchema),
    spread: many('Spreads', spreadSchema),
    secret: labelled('$secrets', secretSchema, 'Name'),
    update: one('Update', updateSchema),
    multiregion: one('Multiregion', multiregionSchema),
    periodic: one('Periodic', periodicSchema),
    parameterized: one('ParameterizedJob', parameterizedSchema),
    reschedule: one('Reschedule', rescheduleSchema),
    migrate: one('Migrate', migrateSchema),
    meta: mapBlock('Meta', true),
    ui: one('UI', uiSchema),
    vault: one('$vault', vaultSchema),
  },
  fixed: SERVER_KEYS,
  shape: ({ $label = '', ...json }) =>
    inheritedBlocks({ ...json, ID: json['ID'] ?? $label, Name: json['Name'] ?? $label }),
};
