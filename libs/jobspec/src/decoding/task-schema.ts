import { NS_PER_SECOND } from '@waybill/model/clock';
import { type JsonObject, objectsIn, textAt } from './json.js';
import { affinitySchema, constraintSchema } from './placement-schema.js';
import {
  consulSchema,
  identitySchema,
  restartSchema,
  scheduleSchema,
  secretSchema,
  taskScalingSchema,
  vaultSchema,
} from './policy-schema.js';
import { logsSchema, resourcesSchema } from './resources-schema.js';
import {
  type BlockRule,
  bool,
  duration,
  freeform,
  labelled,
  many,
  mapBlock,
  one,
  optional,
  type Schema,
  text,
  texts,
  type Written,
} from './schema.js';
import { serviceSchema } from './service-schema.js';

const artifactSchema: Schema = {
  attributes: {
    source: optional.text('GetterSource'),
    destination: optional.text('RelativeDest'),
    mode: optional.text('GetterMode', { canonical: 'any' }),
    insecure: optional.bool('GetterInsecure', { canonical: false }),
    chown: bool('Chown'),
  },
  blocks: { options: mapBlock('GetterOptions'), headers: mapBlock('GetterHeaders') },
};

const changeScriptSchema: Schema = {
  attributes: {
    command: optional.text('Command'),
    args: texts('Args', { filled: [] }),
    timeout: optional.duration('Timeout', { filled: 5 * NS_PER_SECOND }),
    fail_on_error: optional.bool('FailOnError', { filled: false }),
    run_on_first_render: optional.bool('RunOnFirstRender', { filled: false }),
  },
  blocks: {},
};

const templateSchema: Schema = {
  attributes: {
    data: optional.text('EmbeddedTmpl', { canonical: '' }),
    source: optional.text('SourcePath', { canonical: '' }),
    destination: optional.text('DestPath', { canonical: '' }),
    change_mode: optional.text('ChangeMode', { filled: 'restart' }),
    change_signal: optional.text('ChangeSignal'),
    once: optional.bool('Once', { canonical: false }),
    splay: optional.duration('Splay', { filled: 5 * NS_PER_SECOND }),
    perms: optional.text('Perms', { filled: '0644' }),
    uid: optional.integer('Uid'),
    gid: optional.integer('Gid'),
    left_delimiter: optional.text('LeftDelim', { canonical: '{{' }),
    right_delimiter: optional.text('RightDelim', { canonical: '}}' }),
    env: optional.bool('Envvars', { canonical: false }),
    vault_grace: optional.duration('VaultGrace', { canonical: 0 }),
    error_on_missing_key: optional.bool('ErrMissingKey', { filled: false }),
  },
  blocks: {
    wait: one('Wait', { attributes: { min: optional.duration('Min'), max: optional.duration('Max') }, blocks: {} }),
    change_script: one('ChangeScript', changeScriptSchema),
  },
};

const volumeMountSchema: Schema = {
  attributes: {
    volume: optional.text('Volume'),
    destination: optional.text('Destination'),
    read_only: optional.bool('ReadOnly', { canonical: false }),
    propagation_mode: optional.text('PropagationMode', { canonical: 'private' }),
    selinux_label: optional.text('SELinuxLabel', { canonical: '' }),
  },
  blocks: {},
};

const csiPluginSchema: Schema = {
  attributes: {
    id: text('ID'),
    type: text('Type'),
    mount_dir: text('MountDir', { canonical: '/csi' }),
    stage_publish_base_dir: text('StagePublishBaseDir', { canonical: '/local/csi' }),
    health_timeout: duration('HealthTimeout', { canonical: 30 * NS_PER_SECOND }),
  },
  blocks: {},
};

const lifecycleSchema: Schema = {
  attributes: { hook: text('Hook', { required: true }), sidecar: bool('Sidecar') },
  blocks: {},
};

const actionSchema: Schema = {
  attributes: { command: text('Command', { required: true }), args: texts('Args') },
  blocks: {},
};

const csiPlugin: BlockRule = {
  kind: 'object',
  json: 'CSIPluginConfig',
  schema: csiPluginSchema,
  many: false,
  omitted: true,
};

export const taskSchema: Schema = {
  attributes: {
    driver: text('Driver'),
    user: text('User'),
    leader: bool('Leader'),
    kill_timeout: optional.duration('KillTimeout', { canonical: 5 * NS_PER_SECOND }),
    kill_signal: text('KillSignal'),
    shutdown_delay: duration('ShutdownDelay'),
    kind: text('Kind'),
  },
  blocks: {
    config: freeform('Config'),
    env: mapBlock('Env', true),
    meta: mapBlock('Meta', true),
    constraint: many('Constraints', constraintSchema),
    affinity: many('Affinities', affinitySchema),
    service: many('Services', serviceSchema),
    artifact: many('Artifacts', artifactSchema),
    template: many('Templates', templateSchema),
    volume_mount: many('VolumeMounts', volumeMountSchema),
    scaling: labelled('ScalingPolicies', taskScalingSchema, '$label'),
    secret: labelled('Secrets', secretSchema, 'Name'),
    identity: many('$identities', identitySchema),
    action: labelled('Actions', actionSchema, 'Name'),
    resources: one('Resources', resourcesSchema),
    restart: one('RestartPolicy', restartSchema),
    logs: one('LogConfig', logsSchema),
    lifecycle: one('Lifecycle', lifecycleSchema),
    vault: one('Vault', vaultSchema),
    consul: one('Consul', consulSchema),
    dispatch_payload: one('DispatchPayload', { attributes: { file: text('File') }, blocks: {} }),
    csi_plugin: csiPlugin,
    schedule: one('Schedule', scheduleSchema),
  },
  shape: ({ $identities, ...json }, written) => ({
    ...json,
    ...identitiesOf(objectsIn($identities)),
    ScalingPolicies: distinctScaling(json, written),
  }),
};

/** Moves the first default identity out of the list of identities (JS-156). */
function identitiesOf(all: readonly JsonObject[]): JsonObject {
  const own = all.find(({ Name }) => Name === '' || Name === 'default');
  const rest = all.filter((identity) => identity !== own);
  return { Identity: own ?? null, Identities: rest.length === 0 ? null : rest };
}

/** Refuses more than one scaling policy for a resource (JS-154). */
function distinctScaling({ ScalingPolicies = null }: JsonObject, { refuse }: Written): JsonObject[] | null {
  const policies = objectsIn(ScalingPolicies);
  for (const [at, policy] of policies.entries()) {
    const Type = textAt(policy, 'Type');
    if (policies.findIndex((other) => other['Type'] === Type) < at) {
      const resource = Type.replace('vertical_', '');
      refuse(`Duplicate scaling "${resource}" block`, `Only one scaling "${resource}" block is allowed.`);
    }
  }
  return policies.length === 0 ? null : policies;
}
