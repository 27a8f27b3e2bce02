import { connectSchema } from './connect-schema.js';
import { checkRestartSchema, identitySchema } from './policy-schema.js';
import { bool, duration, integer, listsBlock, many, mapBlock, one, type Schema, text, texts } from './schema.js';

const checkSchema: Schema = {
  attributes: {
    name: text('Name'),
    type: text('Type'),
    command: text('Command'),
    args: texts('Args'),
    path: text('Path'),
    protocol: text('Protocol'),
    port: text('PortLabel'),
    expose: bool('Expose'),
    address_mode: text('AddressMode'),
    advertise: text('Advertise'),
    interval: duration('Interval'),
    timeout: duration('Timeout'),
    initial_status: text('InitialStatus'),
    notes: text('Notes'),
    tls_server_name: text('TLSServerName'),
    tls_skip_verify: bool('TLSSkipVerify'),
    method: text('Method'),
    body: text('Body'),
    grpc_service: text('GRPCService'),
    grpc_use_tls: bool('GRPCUseTLS'),
    task: text('TaskName'),
    success_before_passing: integer('SuccessBeforePassing'),
    failures_before_critical: integer('FailuresBeforeCritical'),
    failures_before_warning: integer('FailuresBeforeWarning'),
    on_update: text('OnUpdate'),
  },
  blocks: { header: listsBlock('Header'), check_restart: one('CheckRestart', checkRestartSchema) },
};

const weightsSchema: Schema = {
  attributes: { passing: integer('Passing', { canonical: 1 }), warning: integer('Warning', { canonical: 1 }) },
  blocks: {},
};

export const serviceSchema: Schema = {
  attributes: {
    name: text('Name'),
    tags: texts('Tags'),
    canary_tags: texts('CanaryTags'),
    enable_tag_override: bool('EnableTagOverride'),
    port: text('PortLabel'),
    address_mode: text('AddressMode', { canonical: 'auto' }),
    address: text('Address'),
    task: text('TaskName'),
    on_update: text('OnUpdate', { canonical: 'require_healthy' }),
    provider: text('Provider', { canonical: 'consul' }),
    cluster: text('Cluster', { canonical: 'default' }),
    kind: text('Kind'),
  },
  blocks: {
    meta: mapBlock('Meta'),
    canary_meta: mapBlock('CanaryMeta'),
    tagged_addresses: mapBlock('TaggedAddresses'),
    check: many('Checks', checkSchema),
    check_restart: one('CheckRestart', checkRestartSchema),
    identity: one('Identity', identitySchema),
    weights: one('Weights', weightsSchema),
    connect: one('Connect', connectSchema),
  },
};
