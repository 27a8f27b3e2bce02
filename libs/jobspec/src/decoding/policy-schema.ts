import { NS_PER_MINUTE, NS_PER_SECOND } from '@waybill/model/clock';
import { textAt } from './json.js';
import { bool, duration, freeform, integer, mapBlock, one, optional, type Schema, text, texts } from './schema.js';

const UPDATE_AND_MIGRATE: Schema['attributes'] = {
  max_parallel: optional.integer('MaxParallel', { canonical: 1 }),
  health_check: optional.text('HealthCheck', { canonical: 'checks' }),
  min_healthy_time: optional.duration('MinHealthyTime', { canonical: 10 * NS_PER_SECOND }),
  healthy_deadline: optional.duration('HealthyDeadline', { canonical: 5 * NS_PER_MINUTE }),
};

export const updateSchema: Schema = {
  attributes: {
    ...UPDATE_AND_MIGRATE,
    stagger: optional.duration('Stagger', { canonical: 30 * NS_PER_SECOND }),
    progress_deadline: optional.duration('ProgressDeadline', { canonical: 10 * NS_PER_MINUTE }),
    canary: optional.integer('Canary', { canonical: 0 }),
    auto_revert: optional.bool('AutoRevert', { canonical: false }),
    auto_promote: optional.bool('AutoPromote', { canonical: false }),
  },
  blocks: {},
};

export const migrateSchema: Schema = { attributes: UPDATE_AND_MIGRATE, blocks: {} };

export const rescheduleSchema: Schema = {
  attributes: {
    attempts: optional.integer('Attempts'),
    interval: optional.duration('Interval'),
    delay: optional.duration('Delay'),
    delay_function: optional.text('DelayFunction'),
    max_delay: optional.duration('MaxDelay'),
    unlimited: optional.bool('Unlimited'),
  },
  blocks: {},
};

export const restartSchema: Schema = {
  attributes: {
    attempts: optional.integer('Attempts'),
    interval: optional.duration('Interval'),
    delay: optional.duration('Delay'),
    mode: optional.text('Mode'),
    render_templates: optional.bool('RenderTemplates'),
  },
  blocks: {},
};

export const disconnectSchema: Schema = {
  attributes: {
    lost_after: optional.duration('LostAfter'),
    stop_on_client_after: optional.duration('StopOnClientAfter'),
    replace: optional.bool('Replace', { canonical: true }),
    reconcile: optional.text('Reconcile', { canonical: 'best_score' }),
  },
  blocks: {},
};

const scaling: Schema = {
  attributes: {
    min: optional.integer('Min'),
    max: optional.integer('Max'),
    enabled: optional.bool('Enabled', { canonical: true }),
    type: text('Type'),
  },
  blocks: { policy: freeform('Policy') },
  fixed: { ID: '', Namespace: '', Target: null, CreateIndex: 0, ModifyIndex: 0 },
};

/** A scaling policy of a group is horizontal and requires `max` (JS-113, JS-154). */
export const groupScalingSchema: Schema = {
  ...scaling,
  attributes: { ...scaling.attributes, max: optional.integer('Max', { required: true }) },
  shape: (json, { refuse }) => {
    const Type = textAt(json, 'Type');
    if (Type !== '' && Type !== 'horizontal')
      refuse('Invalid group scaling type', `task group scaling policy had invalid type: "${Type}"`);
    return { ...json, Type: 'horizontal' };
  },
};

/** A scaling policy of a task. Its label names the scaled resource (JS-154). */
export const taskScalingSchema: Schema = {
  ...scaling,
  shape: (written, { refuse }) => {
    const { $label: _, ...json } = written;
    const resource = textAt(written, '$label').toLowerCase();
    if (resource !== 'cpu' && resource !== 'mem') {
      refuse('Invalid scaling policy name', 'scaling policy name must be "cpu" or "mem"');
      return json;
    }
    const Type = `vertical_${resource}`;
    if (json['Type'] !== '' && json['Type'] !== Type)
      refuse(
        'Invalid scaling policy type',
        `Invalid policy type, expected "${Type}" but found "${textAt(json, 'Type')}"`,
      );
    return { ...json, Type };
  },
};

export const vaultSchema: Schema = {
  attributes: {
    policies: texts('Policies'),
    role: text('Role'),
    namespace: optional.text('Namespace', { canonical: '' }),
    cluster: text('Cluster', { canonical: 'default' }),
    env: optional.bool('Env', { filled: true }),
    disable_file: optional.bool('DisableFile', { filled: false }),
    change_mode: optional.text('ChangeMode', { filled: 'restart' }),
    change_signal: optional.text('ChangeSignal', { canonical: 'SIGHUP' }),
    allow_token_expiration: optional.bool('AllowTokenExpiration', { canonical: false }),
  },
  blocks: {},
};

export const secretSchema: Schema = {
  attributes: { provider: text('Provider'), path: text('Path') },
  blocks: { config: freeform('Config'), env: mapBlock('Env') },
};

export const consulSchema: Schema = {
  attributes: {
    namespace: text('Namespace'),
    cluster: text('Cluster', { canonical: 'default' }),
    partition: text('Partition'),
  },
  blocks: {},
};

export const identitySchema: Schema = {
  attributes: {
    name: text('Name'),
    aud: texts('Audience'),
    change_mode: text('ChangeMode'),
    change_signal: text('ChangeSignal'),
    env: bool('Env'),
    file: bool('File'),
    filepath: text('Filepath'),
    service_name: text('ServiceName'),
    ttl: duration('TTL'),
    extra_claims: texts('ExtraClaims'),
  },
  blocks: {},
};

export const checkRestartSchema: Schema = {
  attributes: {
    limit: integer('Limit'),
    grace: optional.duration('Grace', { canonical: NS_PER_SECOND }),
    ignore_warnings: bool('IgnoreWarnings'),
  },
  blocks: {},
};

export const numaSchema: Schema = {
  attributes: { affinity: text('Affinity', { canonical: 'none' }), devices: texts('Devices') },
  blocks: {},
};

const cronSchema: Schema = {
  attributes: { start: text('Start'), end: text('End'), timezone: text('Timezone') },
  blocks: {},
};
export const scheduleSchema: Schema = { attributes: {}, blocks: { cron: one('Cron', cronSchema) } };
