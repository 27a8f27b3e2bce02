import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { type ClaimSubject, extraClaimText } from './extra-claim-texts.js';

const node = fixtures.aNode({ Datacenter: 'dc2', NodePool: 'gpu', NodeClass: 'big' });
const alloc = fixtures.anAlloc({ TaskGroup: 'app' });
const signals = { Env: true, DisableFile: false, ChangeMode: 'restart', ChangeSignal: '', AllowTokenExpiration: false };
const task = fixtures.aTask({
  Name: 'main',
  Vault: { ...signals, Cluster: 'eu', Namespace: 'secrets', Role: 'reader' },
});
const job = fixtures.aJob({ ID: 'web/dispatch-1', ParentID: 'web', NodePool: 'all', Meta: { unit: 'u1' } });
const text = (written: string, over: Partial<ClaimSubject> = {}): string =>
  extraClaimText(written, { alloc, job, node, task, ...over });

describe('AU-134: the text of an extra claim', () => {
  it.each([
    ['${job.region}', 'global'],
    ['${job.namespace}', 'default'],
    ['${job.id}', 'web'],
    ['${job.node_pool}', 'all'],
    ['${job.meta.unit}', 'u1'],
    ['${group.name}', 'app'],
    ['${alloc.id}', alloc.ID],
    ['${node.id}', node.ID],
    ['${node.datacenter}', 'dc2'],
    ['${node.pool}', 'gpu'],
    ['${node.class}', 'big'],
    ['${task.name}', 'main'],
    ['${vault.cluster}', 'eu'],
    ['${vault.namespace}', 'secrets'],
    ['${vault.role}', 'reader'],
    ['a ${task.name} in ${group.name}', 'a main in app'],
  ])('%s is %s', (written, meant) => {
    expect(text(written)).toBe(meant);
  });

  it.each(['${unknown}', '${job.meta.none}', '${job.meta.toString}', '${job.meta.}'])(
    '%s stays as it is',
    (written) => {
      expect(text(written)).toBe(written);
      expect(text(written, { job: { ...job, Meta: null } })).toBe(written);
    },
  );

  it('a service has no task: its names are empty', () => {
    const names = ['task.name', 'vault.cluster', 'vault.namespace', 'vault.role'].map((name) => `\${${name}}`);
    expect(text(names.join('-'), { task: undefined })).toBe('---');
  });
});
