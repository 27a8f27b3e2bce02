import { absent, get, list, names, type Operation, post, put, read, remove, stream, write } from './operation.js';
import {
  anything,
  flag,
  int,
  listOf,
  mapOf,
  nullable,
  plain,
  QUERY_META,
  ref,
  text,
  uint,
  WRITE_META,
} from './schema.js';

const JOB = '/v1/job/{jobID}';
const ALLOC = '/v1/client/allocation/{allocID}';
const FILES = '/v1/client/fs';
const request = ref('Request');
const jobRequest = ref('JobRequest');
const index = plain(WRITE_META);

const JOBS: Operation[] = [
  ...list('/v1/jobs', 'Jobs', ref('JobListStub'), ['meta']),
  ...write('/v1/jobs', 'Register a job', { body: jobRequest, answer: ref('JobRegisterResponse') }),
  ...write('/v1/jobs/parse', 'Understand a job file', { body: request, answer: ref('JobInput') }),
  ...list('/v1/jobs/statuses', 'How jobs are', ref('JobStatusesJob'), ['include_children']),
  ...post('/v1/jobs/statuses', 'How some jobs are', { body: request, answer: listOf(ref('JobStatusesJob')) }),
  ...write('/v1/validate/job', 'What is wrong with a job', { body: jobRequest, answer: ref('JobValidateResponse') }),
  ...read(JOB, 'A job', ref('Job')),
  ...write(JOB, 'Register this job', { body: jobRequest, answer: ref('JobRegisterResponse') }),
  ...remove(JOB, 'Stop a job', {
    query: ['namespace', 'purge', 'eval_priority', 'no_shutdown_delay'],
    answer: ref('JobDeregisterResponse'),
  }),
  ...read(`${JOB}/allocations`, 'Its allocations', listOf(ref('AllocListStub')), ['all']),
  ...read(`${JOB}/evaluations`, 'Its evaluations', listOf(ref('Evaluation'))),
  ...read(`${JOB}/deployments`, 'Its deployments', listOf(ref('Deployment')), ['all']),
  ...read(`${JOB}/deployment`, 'Its latest deployment', nullable(ref('Deployment'))),
  ...read(`${JOB}/summary`, 'Its counts', ref('JobSummary')),
  ...read(`${JOB}/versions`, 'Its versions', ref('JobVersions'), ['diffs', 'diff_tag', 'diff_version']),
  ...read(`${JOB}/scale`, 'How its groups are scaled', ref('JobScaleStatusResponse')),
  ...read(`${JOB}/submission`, 'The text a version was submitted as', ref('JobSubmission'), ['version']),
  ...read(`${JOB}/services`, 'Its services', listOf(ref('ServiceRegistration'))),
  ...read(`${JOB}/actions`, 'Commands prepared for its tasks', listOf(anything)),
  ...write(`${JOB}/plan`, 'What registering it would do', { body: jobRequest, answer: ref('JobPlanResponse') }),
  ...write(`${JOB}/evaluate`, 'Evaluate it anew', { body: request, answer: ref('JobRegisterResponse') }),
  ...write(`${JOB}/revert`, 'Go back to a version', { body: request, answer: ref('JobRegisterResponse') }),
  ...write(`${JOB}/stable`, 'Call a version stable', { body: request, answer: index }),
  ...write(`${JOB}/scale`, 'Change the count of a group', { body: request, answer: ref('JobRegisterResponse') }),
  ...write(`${JOB}/dispatch`, 'Begin a child', {
    body: request,
    query: ['namespace', 'idempotency_token'],
    answer: ref('JobDispatchResponse'),
  }),
  ...write(`${JOB}/dispatch/payload`, 'Begin a child with these bytes', {
    body: anything,
    query: ['namespace', 'idempotency_token'],
    answer: ref('JobDispatchResponse'),
  }),
  ...write(`${JOB}/periodic/force`, 'Launch it now', {
    answer: plain({ EvalID: text, EvalCreateIndex: uint, ...WRITE_META }),
  }),
  ...write(`${JOB}/versions/{name}/tag`, 'Tag a version', {
    body: request,
    answer: ref('JobTag'),
  }),
  ...remove(`${JOB}/versions/{name}/tag`, 'Untag a version', {
    answer: ref('JobTag'),
  }),
];

const PLACEMENTS: Operation[] = [
  ...list('/v1/evaluations', 'Evaluations', ref('Evaluation'), ['status', 'job']),
  ...remove('/v1/evaluations', 'Delete evaluations', { body: request, answer: plain({ Count: int, ...WRITE_META }) }),
  ...read('/v1/evaluations/count', 'How many evaluations', plain({ Count: int, ...QUERY_META }), ['filter']),
  ...read('/v1/evaluation/{evalID}', 'An evaluation', ref('Evaluation'), ['related']),
  ...read('/v1/evaluation/{evalID}/allocations', 'What it placed', listOf(ref('AllocListStub'))),
  ...list('/v1/allocations', 'Allocations', ref('AllocListStub'), ['resources', 'task_states']),
  ...read('/v1/allocation/{allocID}', 'An allocation', ref('Allocation')),
  ...write('/v1/allocation/{allocID}/stop', 'Stop and replace it', {
    query: ['no_shutdown_delay', 'reschedule'],
    answer: plain({ EvalID: text, ...WRITE_META }),
  }),
  ...read('/v1/allocation/{allocID}/services', 'Its services', listOf(ref('ServiceRegistration'))),
  ...read('/v1/allocation/{allocID}/checks', 'Its checks', mapOf(ref('AllocCheckStatus'))),
  ...list('/v1/deployments', 'Deployments', ref('Deployment')),
  ...read('/v1/deployment/{deploymentID}', 'A deployment', ref('Deployment')),
  ...read('/v1/deployment/allocations/{deploymentID}', 'Its allocations', listOf(ref('AllocListStub'))),
  ...['promote', 'fail', 'pause', 'unblock', 'run', 'cancel', 'allocation-health'].flatMap((what) =>
    write(`/v1/deployment/${what}/{deploymentID}`, `Deployment: ${what}`, {
      body: request,
      answer: ref('DeploymentUpdateResponse'),
    }),
  ),
];

const MACHINES: Operation[] = [
  ...list('/v1/nodes', 'Nodes', ref('NodeListStub'), ['resources', 'os']),
  ...read('/v1/node/{nodeID}', 'A node', ref('Node')),
  ...read('/v1/node/{nodeID}/allocations', 'Its allocations', listOf(ref('Allocation'))),
  ...write('/v1/node/{nodeID}/drain', 'Begin or end a drain', { body: request, answer: ref('NodeUpdate') }),
  ...write('/v1/node/{nodeID}/eligibility', 'Let it take new work or not', {
    body: request,
    answer: ref('NodeUpdate'),
  }),
  ...write('/v1/node/{nodeID}/evaluate', 'Evaluate its jobs anew', { answer: ref('NodeUpdateResponse') }),
  ...write('/v1/node/{nodeID}/purge', 'Forget it', { answer: ref('NodeUpdateResponse') }),
  ...list('/v1/node/pools', 'Node pools', ref('NodePool')),
  ...write('/v1/node/pools', 'Create or change a pool', { body: request }),
  ...read('/v1/node/pool/{name}', 'A pool', ref('NodePool')),
  ...write('/v1/node/pool/{name}', 'Create or change it', { body: request }),
  ...remove('/v1/node/pool/{name}', 'Delete it'),
  ...list('/v1/node/pool/{name}/nodes', 'Its nodes', ref('NodeListStub'), ['resources', 'os']),
  ...list('/v1/node/pool/{name}/jobs', 'Its jobs', ref('JobListStub'), ['meta']),
  ...get('/v1/client/stats', 'What a machine uses', { query: ['node_id'], answer: ref('HostStats') }),
  ...get('/v1/client/metadata', 'Metadata of a machine', { query: ['node_id'], answer: ref('NodeMetadata') }),
  ...write('/v1/client/metadata', 'Change metadata of a machine', {
    query: ['node_id'],
    body: request,
    answer: ref('NodeMetadata'),
  }),
  ...get('/v1/client/gc', 'Collect what has ended on a machine', { query: ['node_id'] }),
  ...write('/v1/client/gc', 'Collect what has ended on a machine', { query: ['node_id'] }),
  ...get('/v1/client/identity', 'The claims of the signed identity of a machine', {
    query: ['node_id'],
    answer: ref('NodeIdentity'),
  }),
  ...write('/v1/client/identity/renew', 'Make a machine ask for a new identity', {
    query: ['node_id'],
    body: request,
    answer: anything,
  }),
  ...get(`${ALLOC}/snapshot`, 'The disk of an allocation as a tar', { answer: anything }),
  ...stream(`${ALLOC}/exec`, 'A command in a task, over a WebSocket', ['task', 'command', 'tty', 'ws_handshake']),
  ...get(`${ALLOC}/pause`, 'Schedules of tasks, of which there are none'),
  ...write(`${ALLOC}/pause`, 'Pause a task', { body: request }),
  ...get(`${ALLOC}/stats`, 'What an allocation uses', { query: ['task'], answer: ref('AllocResourceUsage') }),
  ...get(`${ALLOC}/checks`, 'Results of its checks', { answer: mapOf(ref('AllocCheckStatus')) }),
  ...write(`${ALLOC}/restart`, 'Restart its tasks in place', { body: request, answer: index }),
  ...write(`${ALLOC}/signal`, 'Send its tasks a signal', { body: request, answer: index }),
  ...get(`${ALLOC}/gc`, 'Collect it on its machine', { answer: anything }),
  ...write(`${ALLOC}/gc`, 'Collect it on its machine', { answer: anything }),
  ...get(`${FILES}/ls/{allocID}`, 'Files in a directory', { query: ['path'], answer: listOf(ref('AllocFileInfo')) }),
  ...get(`${FILES}/stat/{allocID}`, 'A file', { query: ['path'], answer: ref('AllocFileInfo') }),
  ...stream(`${FILES}/cat/{allocID}`, 'The bytes of a file', ['path']),
  ...stream(`${FILES}/readat/{allocID}`, 'Some bytes of a file', ['path', 'offset', 'limit']),
  ...get(`${FILES}/stream/{allocID}`, 'A file as it grows: frames one behind the other', {
    query: ['path', 'offset', 'origin', 'follow'],
    answer: ref('StreamFrame'),
  }),
  ...get(`${FILES}/logs/{allocID}`, 'The log of a task: frames one behind the other, or with plain its bytes', {
    query: ['task', 'type', 'follow', 'origin', 'offset', 'plain'],
    answer: ref('StreamFrame'),
  }),
];

const STORAGE: Operation[] = [
  ...list('/v1/volumes', 'Volumes', { anyOf: [ref('CSIVolListStub'), ref('HostVolumeStub')] }, [
    'type',
    'plugin_id',
    'node_id',
    'node_pool',
  ]),
  ...write('/v1/volumes', 'Register CSI volumes', { body: ref('CSIVolumes'), answer: ref('CSIVolumesWritten') }),
  ...read('/v1/volume/csi/{volumeID}', 'A CSI volume', ref('CSIVolume')),
  ...put('/v1/volume/csi/{volumeID}', 'Register CSI volumes', {
    body: ref('CSIVolumes'),
    answer: ref('CSIVolumesWritten'),
  }),
  ...put('/v1/volume/csi/{volumeID}/create', 'Have CSI volumes made by their plugin', {
    body: ref('CSIVolumes'),
    answer: ref('CSIVolumesWritten'),
  }),
  ...remove('/v1/volume/csi/{volumeID}', 'Forget a CSI volume; its disk stays', { query: ['namespace', 'force'] }),
  ...remove('/v1/volume/csi/{volumeID}/delete', 'Have its disk deleted, and forget it', { query: ['namespace'] }),
  ...remove('/v1/volume/csi/{volumeID}/detach', 'Free what ended allocations of a node hold', {
    query: ['namespace', 'node'],
  }),
  ...get('/v1/volumes/external', 'Volumes as a provider lists them', {
    query: ['plugin_id', 'per_page', 'next_token'],
    answer: plain({ Volumes: listOf(ref('CSIVolumeExternalStub')), ...QUERY_META }),
  }),
  ...get('/v1/volumes/snapshot', 'Snapshots as a provider lists them', {
    query: ['plugin_id', 'per_page', 'next_token'],
    answer: plain({ Snapshots: listOf(ref('CSISnapshot')), ...QUERY_META }),
  }),
  ...write('/v1/volumes/snapshot', 'Take snapshots', {
    query: ['namespace'],
    body: request,
    answer: plain({ Snapshots: listOf(ref('CSISnapshot')), ...QUERY_META }),
  }),
  ...remove('/v1/volumes/snapshot', 'Delete a snapshot', { query: ['plugin_id', 'snapshot_id'] }),
  ...read('/v1/volume/host/{volumeID}', 'A host volume', ref('HostVolume')),
  ...write('/v1/volume/host/create', 'Have a host volume made on a node', {
    body: ref('HostVolumeRequest'),
    answer: ref('HostVolumeWritten'),
  }),
  ...write('/v1/volume/host/register', 'Register a directory of a node as a host volume', {
    body: ref('HostVolumeRequest'),
    answer: ref('HostVolumeWritten'),
  }),
  ...remove('/v1/volume/host/{volumeID}', 'Have a host volume deleted, and forget it', {
    query: ['namespace', 'force'],
    answer: plain({ Index: uint }),
  }),
  ...list('/v1/volumes/claims', 'Claims on host volumes', anything, ['job_id', 'task_group', 'volume_name']),
  ...remove('/v1/volumes/claim/{claimID}', 'Delete a claim on a host volume', { query: ['namespace'] }),
  ...list('/v1/plugins', 'CSI plugins', ref('CSIPluginListStub'), ['type']),
  ...read('/v1/plugin/csi/{pluginID}', 'A CSI plugin', ref('CSIPlugin')),
];

const CLUSTER: Operation[] = [
  ...read('/v1/operator/scheduler/configuration', 'How is scheduled', ref('SchedulerConfigurationResponse')),
  ...write('/v1/operator/scheduler/configuration', 'Change how is scheduled', {
    query: ['cas'],
    body: request,
    answer: plain({ Updated: flag, ...WRITE_META }),
  }),
  ...put('/v1/system/gc', 'Collect all that may go'),
  ...put('/v1/system/reconcile/summaries', "Make the jobs' summaries anew"),
  ...get('/v1/status/leader', 'Address of the leader', { answer: text }),
  ...get('/v1/status/peers', 'Addresses of all servers', { answer: names }),
  ...get('/v1/regions', 'Names of the regions', { answer: names }),
  ...get('/v1/metrics', 'Metrics of the control plane', { query: ['format'], answer: ref('Metrics') }),
  ...get('/v1/agent/self', 'Whom a client talks to', { answer: ref('AgentSelf') }),
  ...get('/v1/agent/members', 'The servers', { answer: ref('ServerMembers') }),
  ...get('/v1/agent/health', 'Whether all is well', {
    query: ['type'],
    answer: mapOf(plain({ ok: flag, message: text })),
  }),
  ...get('/v1/agent/servers', 'Servers that the agent beside this server knows'),
  ...write('/v1/agent/servers', 'Servers that the agent beside this server is to know', { query: ['address'] }),
  ...write('/v1/agent/join', 'Join servers', {
    query: ['address'],
    answer: plain({ num_joined: int, error: text, warning: text }),
  }),
  ...write('/v1/agent/force-leave', 'Forget a server', { query: ['node', 'prune'] }),
  ...write('/v1/agent/reload', 'Read the configuration anew'),
  ...get('/v1/agent/schedulers', 'Workers of all scheduler processes', { answer: ref('SchedulerWorkers') }),
  ...get('/v1/agent/schedulers/config', 'How many, of which types', { answer: ref('SchedulerWorkerPool') }),
  ...write('/v1/agent/schedulers/config', 'Change how many', { body: request, answer: ref('SchedulerWorkerPool') }),
  ...get('/v1/agent/keyring/{operation}', 'Gossip keys', { answer: anything }),
  ...write('/v1/agent/keyring/{operation}', 'Gossip keys'),
  ...get('/v1/agent/monitor', 'The log of the server: frames one behind the other, or with plain its lines', {
    query: ['log_level', 'log_json', 'log_include_location', 'plain', 'node_id', 'server_id'],
    answer: ref('StreamFrame'),
  }),
  ...get('/v1/agent/monitor/export', 'The stored log of the server, of which there is none', {
    query: ['on_disk', 'service_name', 'logs_since', 'follow'],
  }),
  ...get('/v1/agent/host', 'The machine of a server'),
  ...get('/v1/agent/pprof', 'Profiles'),
  ...get('/v1/agent/pprof/{profile}', 'A profile'),
  ...get('/v1/operator/snapshot', 'The whole state as an archive', { query: ['stale'], answer: anything }),
  ...write('/v1/operator/snapshot', 'Take the whole state back to an archive'),
  ...get('/v1/operator/projection', 'What PostgreSQL refused to store', { answer: ref('ProjectionStanding') }),
  ...write('/v1/operator/projection/retry', 'Try again to store it', { answer: ref('ProjectionRetried') }),
  ...write('/v1/operator/projection/rebuild', 'Fill the database anew, from the log or an archive and the log', {
    answer: ref('ProjectionRebuilt'),
  }),
  ...get('/v1/operator/log/status', 'Whether the log is the one that the read model follows', { answer: anything }),
  ...write('/v1/waybill/redaction', 'Replace a secret that somebody wrote into a job file', {
    body: request,
    answer: anything,
  }),
  ...write('/v1/waybill/redaction/erase', 'Erase the log and the events before now', {
    body: request,
    answer: anything,
  }),
  ...write('/v1/operator/log/adopt', 'Take a log that lost its end as the truth', { answer: anything }),
  ...write('/v1/operator/log/restore', 'Take an archive as the truth', { answer: anything }),
  ...get('/v1/operator/raft/configuration', 'The servers as Raft peers', { answer: ref('RaftConfiguration') }),
  ...remove('/v1/operator/raft/peer', 'Forget a peer', { query: ['id', 'address'] }),
  ...write('/v1/operator/raft/transfer-leadership', 'Hand the lead over', {
    query: ['id', 'address'],
    answer: ref('LeadershipTransfer'),
  }),
  ...get('/v1/operator/autopilot/configuration', 'How autopilot is configured', {
    answer: ref('AutopilotConfiguration'),
  }),
  ...get('/v1/operator/autopilot/health', 'Whether the servers are well', { answer: ref('OperatorHealthReply') }),
  ...get('/v1/operator/upgrade-check/{name}', 'What stands against an upgrade', { answer: anything }),
  ...get('/v1/operator/license', 'The license'),
  ...put('/v1/operator/license', 'Set a license'),
  ...post('/v1/operator/utilization', 'Report use'),
  ...write('/v1/search', 'Find by beginnings', { body: request, answer: ref('SearchResponse') }),
  ...write('/v1/search/fuzzy', 'Find by any part of a name', { body: request, answer: ref('FuzzySearchResponse') }),
  ...list('/v1/namespaces', 'Namespaces', ref('Namespace')),
  ...write('/v1/namespace', 'Create or change a namespace', { body: request }),
  ...read('/v1/namespace/{name}', 'A namespace', ref('Namespace')),
  ...write('/v1/namespace/{name}', 'Create or change it', { body: request }),
  ...remove('/v1/namespace/{name}', 'Delete it'),
  ...list('/v1/scaling/policies', 'Scaling policies', ref('ScalingPolicyListStub'), ['job', 'type']),
  ...read('/v1/scaling/policy/{policyID}', 'A scaling policy', ref('ScalingPolicy')),
  ...read('/v1/services', 'Names of services', listOf(ref('NamespaceServices'))),
  ...list('/v1/service/{name}', 'Registrations of a service', ref('ServiceRegistration'), ['choose']),
  ...remove('/v1/service/{name}/{id}', 'Delete a registration'),
  ...list('/v1/vars', 'Variables, without their items', ref('VariableMetadata')),
  ...read('/v1/var/{path}', 'A variable with its items', ref('VariableDecrypted')),
  ...write('/v1/var/{path}', 'Set it, or take, renew or release its lock', {
    query: ['namespace', 'cas', 'lock-acquire', 'lock-renew', 'lock-release'],
    body: request,
    answer: ref('VariableDecrypted'),
  }),
  ...remove('/v1/var/{path}', 'Delete it', { query: ['namespace', 'cas'] }),
  ...read('/v1/operator/keyring/keys', 'Root keys', listOf(ref('RootKeyMeta'))),
  ...write('/v1/operator/keyring/rotate', 'A new root key', {
    query: ['algo', 'full', 'publish_time'],
    answer: plain({ Key: ref('RootKeyMeta'), Index: uint }),
  }),
  ...remove('/v1/operator/keyring/key/{id}', 'Delete a root key', { query: ['force'], answer: plain({ Index: uint }) }),
  ...get('/.well-known/jwks.json', 'Public keys that verify identities', {
    answer: plain({ keys: listOf(ref('PublicJwk')) }),
  }),
  ...get('/.well-known/openid-configuration', 'The issuer of identities', { answer: ref('OpenIdConfiguration') }),
  ...stream('/v1/event/stream', 'Events, a line per transaction', [
    'namespace',
    'topic',
    'index',
    'strict',
    'until',
    'visible',
  ]),
];

const INTRODUCTIONS = write(
  '/v1/acl/identity/client-introduction-token',
  'Make a token by which a new node registers',
  { body: request, answer: plain({ JWT: text }) },
);

const ACCESS: Operation[] = [
  ...write('/v1/acl/bootstrap', 'Make the first management token', { body: request, answer: ref('ACLToken') }),
  ...write('/v1/acl/login', 'Exchange a JWT of somebody else for a token', { body: request, answer: ref('ACLToken') }),
  ...write('/v1/acl/oidc/auth-url', 'Begin a login at an OpenID provider', {
    body: request,
    answer: plain({ AuthURL: text }),
  }),
  ...write('/v1/acl/oidc/complete-auth', 'Complete a login at an OpenID provider', {
    body: request,
    answer: ref('ACLToken'),
  }),
  ...list('/v1/acl/tokens', 'Tokens', ref('ACLTokenListStub'), ['global']),
  ...write('/v1/acl/token', 'Create or change a token', { body: request, answer: ref('ACLToken') }),
  ...get('/v1/acl/token/self', 'Who asks', { answer: ref('ACLToken') }),
  ...read('/v1/acl/token/{accessor}', 'A token', ref('ACLToken')),
  ...write('/v1/acl/token/{accessor}', 'Change it', { body: request, answer: ref('ACLToken') }),
  ...remove('/v1/acl/token/{accessor}', 'Delete it'),
  ...write('/v1/acl/token/onetime', 'Make a one-time token', {
    answer: plain({ OneTimeToken: ref('OneTimeToken'), Index: uint }),
  }),
  ...write('/v1/acl/token/onetime/exchange', 'Exchange a one-time token for the token', {
    body: request,
    answer: plain({ Token: ref('ACLToken'), Index: uint }),
  }),
  ...list('/v1/acl/policies', 'Policies', ref('ACLPolicyListStub')),
  ...list('/v1/acl/policy/self', 'Policies of who asks', ref('ACLPolicyListStub')),
  ...read('/v1/acl/policy/{name}', 'A policy', ref('ACLPolicy')),
  ...write('/v1/acl/policy/{name}', 'Create or change it', { body: request }),
  ...remove('/v1/acl/policy/{name}', 'Delete it'),
  ...list('/v1/acl/roles', 'Roles', ref('ACLRole')),
  ...write('/v1/acl/role', 'Create or change a role', { body: request, answer: ref('ACLRole') }),
  ...read('/v1/acl/role/name/{name}', 'A role by its name', ref('ACLRole')),
  ...read('/v1/acl/role/{id}', 'A role', ref('ACLRole')),
  ...write('/v1/acl/role/{id}', 'Change it', { body: request, answer: ref('ACLRole') }),
  ...remove('/v1/acl/role/{id}', 'Delete it'),
  ...list('/v1/acl/auth-methods', 'Auth methods, to anybody', ref('ACLAuthMethodListStub')),
  ...write('/v1/acl/auth-method', 'Create or change an auth method', { body: request, answer: ref('ACLAuthMethod') }),
  ...read('/v1/acl/auth-method/{name}', 'An auth method', ref('ACLAuthMethod')),
  ...write('/v1/acl/auth-method/{name}', 'Change it', { body: request, answer: ref('ACLAuthMethod') }),
  ...remove('/v1/acl/auth-method/{name}', 'Delete it, with rules=true its binding rules too', { query: ['rules'] }),
  ...list('/v1/acl/binding-rules', 'Binding rules', ref('ACLBindingRuleListStub')),
  ...write('/v1/acl/binding-rule', 'Create or change a binding rule', { body: request, answer: ref('ACLBindingRule') }),
  ...read('/v1/acl/binding-rule/{id}', 'A binding rule', ref('ACLBindingRule')),
  ...write('/v1/acl/binding-rule/{id}', 'Change it', { body: request, answer: ref('ACLBindingRule') }),
  ...remove('/v1/acl/binding-rule/{id}', 'Delete it'),
  ...INTRODUCTIONS,
];

const LOG_QUERY =
  'namespace index wait kind id since until from to type actor request trace related diff reverse per_page next_token'.split(
    ' ',
  );

const HISTORY: Operation[] = [
  ...get('/v1/waybill/log', 'Transactions, newest first', {
    query: LOG_QUERY,
    answer: listOf(ref('LoggedTransaction')),
  }),
  ...get('/v1/waybill/trace/evaluation/{evalID}', 'Where an evaluation spent its time', {
    query: ['allocs'],
    answer: ref('EvaluationTrace'),
  }),
  ...get('/v1/waybill/state/{kind}/{id}', 'An object as it was', { query: ['namespace', 'index'], answer: anything }),
  ...get('/v1/waybill/openapi.json', 'This description', { answer: anything }),
  ...get('/v1/waybill/audit', 'Who asked what, newest first', {
    query: [
      'namespace',
      'from',
      'to',
      'accessor',
      'object',
      'operation',
      'status',
      'stage',
      'request',
      'per_page',
      'next_token',
    ],
    answer: listOf(anything),
  }),
  ...get(
    '/v1/waybill/control-plane',
    'The roles with their holders, the lag of the log, and the queues of the broker',
    {
      answer: ref('ControlPlane'),
    },
  ),
  ...get('/v1/waybill/routes', 'Every route and the right that it needs', { answer: listOf(anything) }),
  ...write('/v1/waybill/acl/rekey', 'Store all secrets under the present key of access control', {
    answer: plain({ Tokens: uint, AuthMethods: uint, Unreadable: uint }),
  }),
  ...get('/v1/waybill/rights', 'The routes and topics that the caller may use', {
    query: ['namespace', 'path', 'pool'],
    answer: plain({ Routes: listOf(text), Capabilities: listOf(text), Topics: listOf(text) }),
  }),
];

const COMMERCIAL: Operation[] = [
  'sentinel/policies',
  'sentinel/policy/{name}',
  'quotas',
  'quota-usages',
  'quota',
  'quota/{name}',
  'recommendation',
  'recommendation/{id}',
  'recommendations',
  'recommendations/apply',
].flatMap((path) => absent(`/v1/${path}`, 'Of the commercial edition of the reference only: 501'));

/** OPERATIONS lists all requests in the order of the reference. A test compares it with the routes. */
export const OPERATIONS: readonly Operation[] = [
  ...JOBS,
  ...PLACEMENTS,
  ...MACHINES,
  ...STORAGE,
  ...CLUSTER,
  ...ACCESS,
  ...HISTORY,
  ...COMMERCIAL,
];
