import { Refusal } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Acl, type Workload } from './acl.js';
import { NAMESPACE_CAPABILITIES } from './capabilities.js';

const acl = (...rules: string[]): Acl =>
  Acl.compile(rules.map((text, n) => ({ name: `p${n}`, modifyIndex: n, rules: text })));

/** In both orders: which policy comes first never matters. */
const inBothOrders = (first: string, second: string): Acl[] => [acl(first, second), acl(second, first)];

describe('namespaces', () => {
  it('OP-123: deny removes all other capabilities of its block', () => {
    const compiled = acl('namespace "a" { policy = "write" capabilities = ["deny", "alloc-node-exec"] }');
    expect(compiled.allowsNamespace('a', ...NAMESPACE_CAPABILITIES)).toBe(false);
    expect(compiled.hasAccessToNamespace('a')).toBe(false);
  });

  it('OP-124: capabilities of one label are united, and denied if one policy denies', () => {
    const [read, submit, deny] = ['["read-job"]', '["submit-job"]', '["deny"]'].map(
      (list) => `namespace "a-*" { capabilities = ${list} }`,
    ) as [string, string, string];
    for (const both of inBothOrders(read, submit)) {
      expect(both.allowsNamespace('a-1', 'read-job')).toBe(true);
      expect(both.allowsNamespace('a-1', 'submit-job')).toBe(true);
      expect(both.allowsNamespace('a-1', 'list-jobs', 'purge-job')).toBe(false);
    }
    for (const denied of inBothOrders(read, deny)) expect(denied.hasAccessToNamespace('a-1')).toBe(false);
    expect(acl(read, deny, submit).hasAccessToNamespace('a-1')).toBe(false);
  });

  it('OP-131, OP-265: an exact label counts alone, also when it grants nothing', () => {
    const compiled = acl('namespace "*" { policy = "write" }\nnamespace "a" { capabilities = [] }');
    expect(compiled.allowsNamespace('a', 'read-job')).toBe(false);
    expect(compiled.allowsNamespace('b', 'read-job')).toBe(true);
  });

  it.each([
    ['prod-*', 'write', '*-api-services', 'deny', 'prod-api-services', false],
    ['prod-api-*', 'write', '*-api-services', 'deny', 'prod-api-services', false],
    ['*', 'read', 'prod', 'write', 'prod', true],
    ['prod', 'deny', '*', 'write', 'prod', false],
    ['web-*', 'write', 'api', 'write', 'other', false],
  ])('OP-132, OP-134: %s %s and %s %s: may %s be written: %j', (one, its, other, others, name, expected) => {
    for (const both of inBothOrders(
      `namespace "${one}" { policy = "${its}" }`,
      `namespace "${other}" { policy = "${others}" }`,
    ))
      expect(both.allowsNamespace(name, 'submit-job')).toBe(expected);
  });

  it('OP-132, OP-133: of two patterns as close the one that sorts last counts, and a star more is further', () => {
    const volumes = (one: string, other: string): Acl[] =>
      inBothOrders(
        `namespace "n" { variables { path "${one}" { capabilities = ["write"] } } }`,
        `namespace "n" { variables { path "${other}" { capabilities = ["deny"] } } }`,
      );
    const mayWrite = (all: Acl[], path: string): boolean[] => all.map((one) => one.allowsVariable('n', path, 'write'));
    expect(mayWrite(volumes('foo/*', '*/bar'), 'foo/bar')).toEqual([true, true]);
    expect(mayWrite(volumes('*/bar', 'foo/*'), 'foo/bar')).toEqual([false, false]);
    expect(mayWrite(volumes('foo/*', 'foo/*r'), 'foo/bar')).toEqual([false, false]);
    expect(mayWrite(volumes('foo/*', 'fo*o/*'), 'foo/bar')).toEqual([true, true]);
    expect(mayWrite(volumes('é*', 'ef*'), 'éf')).toEqual([true, true]);
  });

  it('OP-136: a star in a name is no pattern', () => {
    const compiled = acl('namespace "*" { policy = "write" variables { path "*" { capabilities = ["read"] } } }');
    for (const name of ['*', 'a*', 'default*']) {
      expect(compiled.allowsNamespace(name, 'read-job')).toBe(false);
      expect(compiled.hasAnyVariableRule(name)).toBe(false);
      expect(compiled.allowsVariable(name, 'x', 'read')).toBe(false);
      expect(compiled.allowsVariable('default', name, 'read')).toBe(false);
    }
  });

  it('OP-139: any capability but deny is access; rules for variables alone are none', () => {
    expect(acl('namespace "a" { capabilities = ["pause-allocation"] }').hasAccessToNamespace('a')).toBe(true);
    expect(acl('namespace "a" { capabilities = [] }').hasAccessToNamespace('a')).toBe(false);
    const variables = acl('namespace "a" { variables { path "x" { capabilities = ["read"] } } }');
    expect(variables.hasAccessToNamespace('a')).toBe(false);
  });

  it('OP-140: a capability somewhere is enough to ask for all namespaces, and the list is filtered', () => {
    const compiled = acl(
      'namespace "gone" { policy = "read" }\nnamespace "b*" { policy = "read" }\nnamespace "bad" { policy = "deny" }',
    );
    expect(compiled.allowsAnyNamespace('list-jobs')).toBe(true);
    expect(compiled.allowsAnyNamespace('submit-job', 'read-job')).toBe(true);
    expect(compiled.allowsAnyNamespace('submit-job')).toBe(false);
    expect(compiled.namespacesAllowing(['list-jobs'], ['a', 'b', 'bad', 'box'])).toEqual(['b', 'box']);
    expect(acl('namespace "a" { policy = "deny" }').allowsAnyNamespace('list-jobs')).toBe(false);
    expect(Acl.management.namespacesAllowing(['list-jobs'], ['a'])).toBe('all');
  });
});

describe('blocks without label', () => {
  it('OP-125: the strongest level wins in the order deny, write, read', () => {
    for (const block of ['agent', 'node', 'quota', 'operator'] as const) {
      const level = (...levels: string[]): [boolean, boolean] => {
        const compiled = acl(...levels.map((one) => `${block} { policy = "${one}" }`));
        switch (block) {
          case 'agent':
            return [compiled.allowsAgentRead(), compiled.allowsAgentWrite()];
          case 'node':
            return [compiled.allowsNodeRead(), compiled.allowsNodeWrite()];
          case 'quota':
            return [compiled.allowsQuotaRead(), compiled.allowsQuotaWrite()];
          case 'operator':
            return [compiled.allowsOperatorRead(), compiled.allowsOperatorWrite()];
        }
      };
      expect(level('read')).toEqual([true, false]);
      expect(level('write', 'read')).toEqual([true, true]);
      expect(level('read', 'write')).toEqual([true, true]);
      expect(level('write', 'deny', 'read')).toEqual([false, false]);
      expect(level('scale')).toEqual([false, false]);
      expect(level('scale', 'read')).toEqual([true, false]);
      expect(level()).toEqual([false, false]);
    }
  });

  it('OP-128: plugin read allows list and read, list allows list, write allows neither and hides read', () => {
    const level = (...levels: string[]): [boolean, boolean] => {
      const compiled = acl(...levels.map((one) => `plugin { policy = "${one}" }`));
      return [compiled.allowsPluginList(), compiled.allowsPluginRead()];
    };
    expect(level('read')).toEqual([true, true]);
    expect(level('list')).toEqual([true, false]);
    expect(level('list', 'read')).toEqual([true, true]);
    expect(level('write')).toEqual([false, false]);
    expect(level('read', 'write')).toEqual([false, false]);
    expect(level('read', 'deny')).toEqual([false, false]);
  });

  it('OP-127: named operator capabilities grant no level, and read does not save snapshots', () => {
    const named = acl('operator { capabilities = ["snapshot-save", "keyring-rotate"] }');
    expect([named.allowsOperatorRead(), named.allowsOperatorWrite()]).toEqual([false, false]);
    expect(named.allowsOperator('snapshot-save')).toBe(true);
    expect(named.allowsOperator('keyring-delete')).toBe(false);
    const read = acl('operator { policy = "read" }');
    expect([read.allowsOperator('keyring-read'), read.allowsOperator('snapshot-save')]).toEqual([true, false]);
    expect(acl('operator { policy = "write" }').allowsOperator('snapshot-save')).toBe(true);
  });

  it('OP-123: deny among the capabilities of the operator takes its level too, in all policies', () => {
    for (const denied of inBothOrders('operator { policy = "write" }', 'operator { capabilities = ["deny"] }')) {
      expect([denied.allowsOperatorRead(), denied.allowsOperatorWrite()]).toEqual([false, false]);
      expect(denied.allowsOperator('snapshot-save')).toBe(false);
    }
  });
});

it('OP-120: node pools and host volumes have labels, levels and capabilities as well', () => {
  const compiled = acl(
    'node_pool "gpu*" { policy = "read" capabilities = ["delete"] }\nhost_volume "data-*" { policy = "read" }',
  );
  expect(compiled.allowsNodePool('gpu-1', 'read')).toBe(true);
  expect(compiled.allowsNodePool('gpu-1', 'delete')).toBe(true);
  expect(compiled.allowsNodePool('gpu-1', 'write')).toBe(false);
  expect([compiled.hasAccessToNodePool('gpu-1'), compiled.hasAccessToNodePool('cpu')]).toEqual([true, false]);
  expect(compiled.allowsHostVolume('data-1', 'mount-readonly')).toBe(true);
  expect(compiled.allowsHostVolume('data-1', 'mount-readwrite')).toBe(false);
});

describe('variables', () => {
  const web: Workload = { namespace: 'default', jobId: 'web', group: 'api', task: 'server' };
  const own = ['nomad/jobs', 'nomad/jobs/web', 'nomad/jobs/web/api', 'nomad/jobs/web/api/server'];

  it('OP-121, OP-135: patterns in namespace and path are matched together', () => {
    const compiled = acl(
      'namespace "dev-*" { variables { path "app/*" { capabilities = ["read"] } path "app/x" { capabilities = ["deny"] } } }',
    );
    expect(compiled.allowsVariable('dev-1', 'app/a', 'read')).toBe(true);
    expect(compiled.allowsVariable('dev-1', 'app/a', 'list')).toBe(true);
    expect(compiled.allowsVariable('dev-1', 'app/a', 'write')).toBe(false);
    expect(compiled.allowsVariable('dev-1', 'app/x', 'read')).toBe(false);
    expect(compiled.allowsVariable('dev', 'app/a', 'read')).toBe(false);
    expect([compiled.hasAnyVariableRule('dev-1'), compiled.hasAnyVariableRule('prod')]).toEqual([true, false]);
  });

  it('OP-135: a star of the namespace never reaches into the path', () => {
    const compiled = acl('namespace "a*" { variables { path "b" { capabilities = ["read"] } } }');
    expect(compiled.allowsVariable('a1', 'b', 'read')).toBe(true);
    expect(compiled.allowsVariable('a1', 'x\0b', 'read')).toBe(false);
    expect(compiled.allowsVariable('a1\0x', 'b', 'read')).toBe(false);
  });

  it('OP-126: deny of one policy wins over read of another on the same path', () => {
    const rule = (list: string): string => `namespace "n" { variables { path "x*" { capabilities = [${list}] } } }`;
    for (const both of inBothOrders(rule('"read"'), rule('"deny"'))) {
      expect(both.allowsVariable('n', 'x1', 'read')).toBe(false);
      expect(both.hasAnyVariableRule('n')).toBe(false);
    }
  });

  it('OP-137: a workload reads and lists its own paths', () => {
    for (const path of own) {
      expect(Acl.none.allowsVariable('default', path, 'read', web)).toBe(true);
      expect(Acl.none.allowsVariable('default', path, 'list', web)).toBe(true);
      expect(Acl.none.allowsVariable('default', path, 'write', web)).toBe(false);
      expect(Acl.none.allowsVariable('other', path, 'read', web)).toBe(false);
      expect(Acl.none.allowsVariable('default', path, 'read')).toBe(false);
    }
    for (const path of ['nomad/jobs/web-2', 'nomad/jobs/web/api/server/x', 'nomad/jobs/web/db', 'nomad'])
      expect(Acl.none.allowsVariable('default', path, 'read', web)).toBe(false);
    const service = { ...web, task: undefined };
    expect(Acl.none.allowsVariable('default', 'nomad/jobs/web/api/', 'read', { ...web, task: '' })).toBe(false);
    expect(Acl.none.allowsVariable('default', 'nomad/jobs/web/api', 'read', service)).toBe(true);
  });

  it('OP-137: an exact rule replaces that, a pattern does not', () => {
    const rule = (namespace: string, path: string, list: string): Acl =>
      acl(`namespace "${namespace}" { variables { path "${path}" { capabilities = [${list}] } } }`);
    expect(rule('default', 'nomad/jobs/web', '"deny"').allowsVariable('default', 'nomad/jobs/web', 'read', web)).toBe(
      false,
    );
    expect(rule('default', 'nomad/jobs/web', '"write"').allowsVariable('default', 'nomad/jobs/web', 'write', web)).toBe(
      true,
    );
    expect(rule('default', 'nomad/*', '"deny"').allowsVariable('default', 'nomad/jobs/web', 'read', web)).toBe(true);
    expect(rule('*', 'nomad/jobs/web', '"deny"').allowsVariable('default', 'nomad/jobs/web', 'read', web)).toBe(true);
    expect(rule('default', 'nomad/*', '"write"').allowsVariable('default', 'nomad/jobs/web', 'write', web)).toBe(false);
    expect(rule('default', 'nomad/*', '"write"').allowsVariable('default', 'nomad/jobs/x', 'write', web)).toBe(true);
  });
});

it('OP-112, OP-119: management may do everything, nobody nothing, a node read nodes and agents', () => {
  const answers = (one: Acl): boolean[] => [
    one.isManagement(),
    one.allowsNamespace('a', 'submit-job'),
    one.allowsAnyNamespace('submit-job'),
    one.hasAccessToNamespace('*'),
    one.allowsNodePool('p', 'write'),
    one.hasAccessToNodePool('p'),
    one.allowsHostVolume('v', 'mount-readwrite'),
    one.allowsOperator('keyring-delete'),
    one.allowsOperatorWrite(),
    one.allowsNodeWrite(),
    one.allowsAgentWrite(),
    one.allowsQuotaWrite(),
    one.allowsPluginRead(),
    one.allowsVariable('a', 'x', 'destroy'),
    one.hasAnyVariableRule('a'),
  ];
  expect(answers(Acl.management)).not.toContain(false);
  expect(answers(Acl.none)).not.toContain(true);
  expect(answers(Acl.node)).not.toContain(true);
  expect([Acl.node.allowsNodeRead(), Acl.node.allowsAgentRead(), Acl.none.allowsNodeRead()]).toEqual([
    true,
    true,
    false,
  ]);
});

it('OP-129: a stored policy that cannot be read is an error, never left out', () => {
  const compile = (): Acl => acl('namespace "a" { policy = "read" }', 'namespace "a" { capabilities = ["fly"] }');
  expect(compile).toThrow(Refusal);
  expect(compile).toThrow('The stored ACL policy "p1" cannot be read: Invalid namespace capability \'fly\'');
});
