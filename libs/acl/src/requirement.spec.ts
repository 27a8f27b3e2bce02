import { expect, it } from 'vitest';
import { Acl } from './acl.js';
import { eventTopicRequirement } from './event-topics.js';
import { describeRequirement, type Requirement, type RequirementContext, satisfies } from './requirement.js';

const acl = (rules: string): Acl => Acl.compile([{ name: 'p', modifyIndex: 1, rules }]);
const WEB = { namespace: 'default', jobId: 'web', group: 'api', task: 'server' };
const IN_A: RequirementContext = { namespace: 'a', pool: 'p', hostVolume: 'v', path: 'x' };
const capability = (list: string): string => `namespace "a" { capabilities = ["${list}"] }`;
const variable = (list: string): string => `namespace "a" { variables { path "x" { capabilities = ["${list}"] } } }`;

/** A requirement, in words, rules that satisfy it, rules that do not although they are close. */
const CASES: [Requirement, string, string, string][] = [
  [
    { kind: 'namespace', anyOf: ['submit-job', 'register-job'] },
    'namespace capability submit-job or register-job',
    capability('register-job'),
    capability('plan-job'),
  ],
  [{ kind: 'namespaceAccess' }, 'any namespace capability', capability('read-fs'), capability('deny')],
  [{ kind: 'node', level: 'read' }, 'node read', 'node { policy = "read" }', 'agent { policy = "write" }'],
  [{ kind: 'node', level: 'write' }, 'node write', 'node { policy = "write" }', 'node { policy = "read" }'],
  [{ kind: 'agent', level: 'read' }, 'agent read', 'agent { policy = "read" }', 'node { policy = "write" }'],
  [{ kind: 'agent', level: 'write' }, 'agent write', 'agent { policy = "write" }', 'agent { policy = "read" }'],
  [{ kind: 'quota', level: 'read' }, 'quota read', 'quota { policy = "read" }', 'quota { policy = "deny" }'],
  [{ kind: 'quota', level: 'write' }, 'quota write', 'quota { policy = "write" }', 'quota { policy = "read" }'],
  [
    { kind: 'operator', level: 'read' },
    'operator read',
    'operator { policy = "read" }',
    'operator { capabilities = ["keyring-read"] }',
  ],
  [
    { kind: 'operator', level: 'write' },
    'operator write',
    'operator { policy = "write" }',
    'operator { policy = "read" }',
  ],
  [
    { kind: 'operator', capability: 'snapshot-save' },
    'operator capability snapshot-save',
    'operator { capabilities = ["snapshot-save"] }',
    'operator { policy = "read" }',
  ],
  [{ kind: 'plugin', level: 'list' }, 'plugin list', 'plugin { policy = "list" }', 'plugin { policy = "write" }'],
  [{ kind: 'plugin', level: 'read' }, 'plugin read', 'plugin { policy = "read" }', 'plugin { policy = "list" }'],
  [
    { kind: 'nodePool', capability: 'delete' },
    'node pool capability delete',
    'node_pool "p" { policy = "write" }',
    'node_pool "p" { policy = "read" }',
  ],
  [
    { kind: 'nodePoolAccess' },
    'any node pool capability',
    'node_pool "p" { policy = "read" }',
    'node_pool "q" { policy = "read" }',
  ],
  [
    { kind: 'hostVolume', anyOf: ['mount-readwrite', 'mount-readonly'] },
    'host volume capability mount-readwrite or mount-readonly',
    'host_volume "v" { policy = "read" }',
    'host_volume "w" { policy = "write" }',
  ],
  [{ kind: 'variable', capability: 'list' }, 'variable capability list', variable('read'), variable('write')],
  [{ kind: 'anyVariable' }, 'any rule for variables in the namespace', variable('destroy'), capability('read-job')],
  [
    {
      kind: 'allOf',
      of: [
        { kind: 'namespace', anyOf: ['csi-write-volume'] },
        { kind: 'plugin', level: 'read' },
      ],
    },
    'namespace capability csi-write-volume, and plugin read',
    `${capability('csi-write-volume')}\nplugin { policy = "read" }`,
    capability('csi-write-volume'),
  ],
  [
    {
      kind: 'anyOf',
      of: [
        { kind: 'namespace', anyOf: ['read-scaling-policy'] },
        {
          kind: 'allOf',
          of: [
            { kind: 'namespace', anyOf: ['list-jobs'] },
            { kind: 'namespace', anyOf: ['read-job'] },
          ],
        },
      ],
    },
    'namespace capability read-scaling-policy, or (namespace capability list-jobs, and namespace capability read-job)',
    'namespace "a" { capabilities = ["list-jobs", "read-job"] }',
    capability('list-jobs'),
  ],
];

it.each(CASES)('OP-170: %j is "%s"', (requirement, words, enough, notEnough) => {
  expect(describeRequirement(requirement)).toBe(words);
  expect(satisfies(acl(enough), requirement, IN_A)).toBe(true);
  expect(satisfies(acl(notEnough), requirement, IN_A)).toBe(false);
  expect(satisfies(Acl.none, requirement, IN_A)).toBe(false);
  expect(satisfies(Acl.management, requirement)).toBe(true);
});

it('OP-170: what a request is about must be said', () => {
  const all = acl(`namespace "*" { policy = "write" variables { path "*" { capabilities = ["read"] } } }
    node_pool "*" { policy = "write" }
    host_volume "*" { policy = "write" }`);
  for (const requirement of [
    { kind: 'namespace', anyOf: ['read-job'] },
    { kind: 'namespaceAccess' },
    { kind: 'nodePool', capability: 'read' },
    { kind: 'nodePoolAccess' },
    { kind: 'hostVolume', anyOf: ['mount-readonly'] },
    { kind: 'variable', capability: 'read' },
    { kind: 'anyVariable' },
  ] satisfies Requirement[]) {
    expect(satisfies(all, requirement, IN_A)).toBe(true);
    expect(satisfies(all, requirement)).toBe(false);
  }
});

it('OP-140: only a list may be asked for in all namespaces', () => {
  const read = acl('namespace "prod" { policy = "read" }\nnamespace "*" { policy = "deny" }');
  expect(satisfies(read, { kind: 'namespace', anyOf: ['list-jobs'], wildcard: true }, { namespace: '*' })).toBe(true);
  expect(satisfies(read, { kind: 'namespace', anyOf: ['list-jobs'] }, { namespace: '*' })).toBe(false);
  expect(satisfies(read, { kind: 'namespace', anyOf: ['submit-job'], wildcard: true }, { namespace: '*' })).toBe(false);
  expect(satisfies(read, { kind: 'namespace', anyOf: ['list-jobs'], wildcard: true }, { namespace: 'dev' })).toBe(
    false,
  );
});

it.each<[Requirement, string, RequirementContext]>([
  [{ kind: 'authenticated' }, 'a valid token', { authenticated: true }],
  [{ kind: 'workload' }, 'a workload identity', { workload: WEB }],
  [{ kind: 'ownNode' }, 'the identity of the node itself', { ownNode: true }],
])('OP-170: %j depends on who asks', (requirement, words, context) => {
  expect(describeRequirement(requirement)).toBe(words);
  expect(satisfies(Acl.none, requirement, context)).toBe(true);
  expect(satisfies(Acl.none, requirement)).toBe(false);
  expect(satisfies(Acl.management, requirement)).toBe(true);
});

it('AU-176: a workload identity may count in its own namespace only, and in lists of all namespaces', () => {
  const requirement: Requirement = { kind: 'workload', ownNamespace: true };
  expect(describeRequirement(requirement)).toBe('a workload identity of the namespace');
  const holds = (namespace: string | undefined, workload: RequirementContext['workload']) =>
    satisfies(Acl.none, requirement, { namespace, workload });
  expect([holds(WEB.namespace, WEB), holds('*', WEB)]).toEqual([true, true]);
  expect([holds('other', WEB), holds(undefined, WEB), holds(WEB.namespace, undefined), holds('*', undefined)]).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

it('OP-170: nobody is checked, or only management passes', () => {
  expect(satisfies(Acl.none, { kind: 'none' })).toBe(true);
  expect(satisfies(acl('operator { policy = "write" }'), { kind: 'management' })).toBe(false);
  expect(satisfies(Acl.management, { kind: 'management' })).toBe(true);
  expect([describeRequirement({ kind: 'none' }), describeRequirement({ kind: 'management' })]).toEqual([
    'no permission',
    'a management token',
  ]);
});

it('OP-137: a workload reads its own variables through a requirement too', () => {
  const context = { namespace: 'default', path: 'nomad/jobs/web', workload: WEB };
  expect(satisfies(Acl.none, { kind: 'variable', capability: 'read' }, context)).toBe(true);
  expect(satisfies(Acl.none, { kind: 'variable', capability: 'write' }, context)).toBe(false);
});

it.each([
  ...['Deployment', 'Evaluation', 'Allocation', 'Job', 'Service', 'CSIPlugin'].map((topic) => [
    topic,
    capability('read-job'),
    capability('list-jobs'),
  ]),
  ['HostVolume', capability('host-volume-read'), capability('read-job')],
  ['CSIVolume', capability('csi-read-volume'), capability('csi-list-volume')],
  ['Node', 'node { policy = "read" }', capability('read-job')],
  ['Operator', 'operator { policy = "read" }', 'operator { capabilities = ["keyring-read"] }'],
  ['Variable', variable('list'), capability('read-job')],
] as [string, string, string][])('EV-40: events of the topic %s', (topic, enough, notEnough) => {
  expect(satisfies(acl(enough), eventTopicRequirement(topic), { namespace: 'a' })).toBe(true);
  expect(satisfies(acl(enough), eventTopicRequirement(topic), { namespace: 'b' })).toBe(
    topic === 'Node' || topic === 'Operator',
  );
  expect(satisfies(acl(notEnough), eventTopicRequirement(topic), { namespace: 'a' })).toBe(false);
});

it.each(['NodePool', 'ACLToken', 'ACLPolicy', 'ACLRole', '*', 'Unknown', 'constructor', ''])(
  'EV-40: events of %j require management',
  (topic) => {
    expect(eventTopicRequirement(topic)).toEqual({ kind: 'management' });
  },
);
