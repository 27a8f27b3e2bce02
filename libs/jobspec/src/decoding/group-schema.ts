import { type JsonObject, objectsIn, textAt } from './json.js';
import { networkSchema } from './network-schema.js';
import { affinitySchema, constraintSchema, spreadSchema } from './placement-schema.js';
import {
  consulSchema,
  disconnectSchema,
  groupScalingSchema,
  migrateSchema,
  rescheduleSchema,
  restartSchema,
  secretSchema,
  updateSchema,
  vaultSchema,
} from './policy-schema.js';
import { bool, labelled, many, mapBlock, one, optional, type Schema, text, texts } from './schema.js';
import { serviceSchema } from './service-schema.js';
import { taskSchema } from './task-schema.js';

const ephemeralDiskSchema: Schema = {
  attributes: {
    sticky: optional.bool('Sticky', { canonical: false }),
    migrate: optional.bool('Migrate', { canonical: false }),
    size: optional.integer('SizeMB', { canonical: 300 }),
  },
  blocks: {},
};

const volumeSchema: Schema = {
  attributes: {
    type: text('Type'),
    source: text('Source'),
    read_only: bool('ReadOnly'),
    sticky: bool('Sticky'),
    access_mode: text('AccessMode'),
    attachment_mode: text('AttachmentMode'),
    per_alloc: bool('PerAlloc'),
  },
  blocks: {
    mount_options: one('MountOptions', {
      attributes: { fs_type: text('FSType'), mount_flags: texts('MountFlags') },
      blocks: {},
    }),
  },
};

export const groupSchema: Schema = {
  attributes: {
    count: optional.integer('Count'),
    shutdown_delay: optional.duration('ShutdownDelay'),
    max_run_duration: optional.duration('MaxRunDuration'),
    stop_after_client_disconnect: optional.duration('StopAfterClientDisconnect'),
    max_client_disconnect: optional.duration('MaxClientDisconnect'),
    prevent_reschedule_on_lost: optional.bool('PreventRescheduleOnLost'),
  },
  blocks: {
    task: labelled('Tasks', taskSchema, 'Name'),
    constraint: many('Constraints', constraintSchema),
    affinity: many('Affinities', affinitySchema),
    spread: many('Spreads', spreadSchema),
    network: many('Networks', networkSchema),
    service: many('Services', serviceSchema),
    volume: labelled('$volumes', volumeSchema, 'Name'),
    secret: labelled('$secrets', secretSchema, 'Name'),
    restart: one('RestartPolicy', restartSchema),
    disconnect: one('Disconnect', disconnectSchema),
    reschedule: one('ReschedulePolicy', rescheduleSchema),
    ephemeral_disk: one('EphemeralDisk', ephemeralDiskSchema),
    update: one('Update', updateSchema),
    migrate: one('Migrate', migrateSchema),
    meta: mapBlock('Meta', true),
    scaling: one('Scaling', groupScalingSchema),
    consul: one('Consul', consulSchema),
    vault: one('$vault', vaultSchema),
  },
  shape: ({ $volumes, ...json }) => ({ ...json, Volumes: byName(objectsIn($volumes)) }),
};

/** Returns volumes by name. Of several with one name, the last counts (JS-112). */
function byName(volumes: readonly JsonObject[]): JsonObject | null {
  if (volumes.length === 0) return null;
  return Object.fromEntries(volumes.map((volume) => [textAt(volume, 'Name'), volume]));
}
