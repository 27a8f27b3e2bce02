import {
  bool,
  type BlockRule,
  freeform,
  integer,
  labelled,
  mapBlock,
  one,
  optional,
  type Schema,
  text,
  texts,
} from './schema.js';

const NO_BLOCKS = {} as const;

/**
 * Parts of Nomad's agent configuration without a counterpart here. They are skipped, and the caller gets their names.
 */
const WITHOUT_EFFECT = [
  'acl',
  'addresses',
  'advertise',
  'audit',
  'autopilot',
  'consul',
  'keyring',
  'limits',
  'reporting',
  'sentinel',
  'server_join',
  'telemetry',
  'tls',
  'ui',
  'vault',
] as const;

const idle = Object.fromEntries(WITHOUT_EFFECT.map((name) => [name, freeform(`$${name}`)])) as Record<
  string,
  BlockRule
>;

/** The scheduler configuration of a new cluster (OP-10), with the API's names. Unset members stay null. */
const schedulerConfiguration: Schema = {
  attributes: {
    scheduler_algorithm: optional.text('SchedulerAlgorithm'),
    memory_oversubscription_enabled: optional.bool('MemoryOversubscriptionEnabled'),
    reject_job_registration: optional.bool('RejectJobRegistration'),
    pause_eval_broker: optional.bool('PauseEvalBroker'),
    node_limit_for_feasibility_checks: optional.integer('NodeLimitForFeasibilityChecks'),
  },
  blocks: {
    preemption_config: one('PreemptionConfig', {
      attributes: {
        system_scheduler_enabled: optional.bool('SystemSchedulerEnabled'),
        sysbatch_scheduler_enabled: optional.bool('SysBatchSchedulerEnabled'),
        batch_scheduler_enabled: optional.bool('BatchSchedulerEnabled'),
        service_scheduler_enabled: optional.bool('ServiceSchedulerEnabled'),
      },
      blocks: NO_BLOCKS,
    }),
  },
};

/**
 * A configuration file of the agent (CL-922). Its JSON keys are the flags of the command `agent`. Keys that start with
 * `$` have no effect.
 */
export const agentSchema: Schema = {
  attributes: {
    data_dir: optional.text('data-dir'),
    region: optional.text('region'),
    datacenter: optional.text('dc'),
    name: optional.text('node'),
    bind_addr: optional.text('bind'),
    log_level: optional.text('log-level'),
    log_json: optional.bool('log-json'),
    nats: optional.text('nats'),
    database: optional.text('database'),
    plugin_dir: optional.text('plugin-dir'),
    leave_on_interrupt: optional.bool('$leave_on_interrupt'),
    leave_on_terminate: optional.bool('$leave_on_terminate'),
    log_include_location: optional.bool('$log_include_location'),
    disable_update_check: optional.bool('$disable_update_check'),
  },
  blocks: {
    ...idle,
    ports: one('ports', {
      attributes: {
        http: optional.integer('http-port'),
        rpc: optional.integer('$rpc'),
        serf: optional.integer('$serf'),
      },
      blocks: NO_BLOCKS,
    }),
    server: one('server', {
      attributes: {
        enabled: bool('server'),
        bootstrap_expect: integer('$bootstrap_expect'),
        encrypt: text('$encrypt'),
        raft_protocol: integer('$raft_protocol'),
        num_schedulers: optional.integer('$num_schedulers'),
        enabled_schedulers: texts('$enabled_schedulers'),
      },
      blocks: {
        server_join: freeform('$server_join'),
        default_scheduler_config: one('default-scheduler-config', schedulerConfiguration),
      },
    }),
    client: one('client', {
      attributes: {
        enabled: bool('client'),
        node_class: optional.text('node-class'),
        node_pool: optional.text('node-pool'),
        servers: texts('$servers'),
        network_interface: text('$network_interface'),
        alloc_dir: text('$alloc_dir'),
        state_dir: text('$state_dir'),
      },
      blocks: {
        meta: mapBlock('meta', true),
        options: mapBlock('$options', true),
        reserved: freeform('$reserved'),
        server_join: freeform('$server_join'),
        host_volume: labelled(
          '$host_volume',
          { attributes: { path: text('path'), read_only: bool('ro') }, blocks: NO_BLOCKS },
          'name',
        ),
        host_network: labelled(
          '$host_network',
          {
            attributes: { cidr: text('cidr'), interface: text('interface'), reserved_ports: text('ports') },
            blocks: NO_BLOCKS,
          },
          'name',
        ),
      },
    }),
    plugin: labelled('plugin', { attributes: { args: texts('args') }, blocks: { config: freeform('config') } }, 'name'),
  },
};
