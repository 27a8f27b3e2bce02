import { networkSchema } from './network-schema.js';
import { affinitySchema, constraintSchema } from './placement-schema.js';
import { numaSchema } from './policy-schema.js';
import { labelled, many, one, optional, type Schema } from './schema.js';

const deviceSchema: Schema = {
  attributes: { count: optional.integer('Count', { canonical: 1 }) },
  blocks: { constraint: many('Constraints', constraintSchema), affinity: many('Affinities', affinitySchema) },
};

export const resourcesSchema: Schema = {
  attributes: {
    cpu: optional.integer('CPU'),
    cores: optional.integer('Cores', { canonical: 0 }),
    memory: optional.integer('MemoryMB', { canonical: 300 }),
    memory_max: optional.integer('MemoryMaxMB'),
    disk: optional.integer('DiskMB'),
    secrets: optional.integer('SecretsMB'),
    iops: optional.integer('IOPS'),
  },
  blocks: {
    network: many('Networks', networkSchema),
    device: labelled('Devices', deviceSchema, 'Name', ''),
    numa: one('NUMA', numaSchema),
  },
};

export const logsSchema: Schema = {
  attributes: {
    max_files: optional.integer('MaxFiles', { canonical: 10 }),
    max_file_size: optional.integer('MaxFileSizeMB', { canonical: 10 }),
    disabled: optional.bool('Disabled', { canonical: false }),
    enabled: optional.bool('Enabled'),
  },
  blocks: {},
};
