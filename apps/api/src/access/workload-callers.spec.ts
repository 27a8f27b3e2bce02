import { AclCache } from '@waybill/acl';
import { type Claims, TokenRefusedError } from '@waybill/keyring';
import { type AclPolicy, type Allocation, FakeTime, isPolicyOf } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { auditAuth } from '../audit/audit-record.js';
import { policyNamesOf } from './caller.js';
import { Callers } from './callers.js';
import { RequestAccess } from './request-access.js';
import { anybody } from './needs.js';

const TOKEN = 'header.payload.signature';
const job = fixtures.aJob({ ID: 'app' });
const alloc = (over: Partial<Allocation> = {}): Allocation =>
  fixtures.anAlloc({ Job: job, JobID: job.ID, TaskGroup: 'web', ClientStatus: 'running', ...over });
const [group] = job.TaskGroups;
const TASK = group?.Tasks[0]?.Name ?? '';

let stored: Allocation;
let claims: Claims;
let policies: AclPolicy[];
let reads: number;

const policyOf = (Name: string, JobACL: AclPolicy['JobACL']): AclPolicy =>
  fixtures.aPolicy({ Name, JobACL, Rules: 'namespace "default" { policy = "read" }' }) as AclPolicy;
const jobAcl = (JobID: string, Group = '', Task = '') => ({ Namespace: 'default', JobID, Group, Task });

const callers = (): Callers =>
  new Callers({
    source: {
      grantsBySecretHash: () => Promise.resolve(undefined),
      changeIndex: () => Promise.resolve(1),
      policiesNamed: () => Promise.resolve([]),
    },
    secrets: { hashes: (secret) => [secret] },
    compiled: new AclCache(),
    workloads: {
      verifyJwt: (token) =>
        token === TOKEN ? Promise.resolve(claims) : Promise.reject(new TokenRefusedError('not signed here')),
      allocation: (id) => {
        reads++;
        return Promise.resolve(id === stored.ID ? stored : undefined);
      },
      policiesOfWorkload: (workload) => Promise.resolve(policies.filter((policy) => isPolicyOf(policy, workload))),
    },
    clock: new FakeTime(),
    hearsChanges: () => true,
    changes: { onChangeOf: () => () => {} },
  });

const claimsOf = (over: Claims = {}): Claims => ({
  aud: 'nomadproject.io',
  sub: `global:default:app:web:${TASK}:default`,
  nomad_namespace: 'default',
  nomad_job_id: 'app',
  nomad_allocation_id: stored.ID,
  nomad_task: TASK,
  ...over,
});

beforeEach(() => {
  stored = alloc();
  claims = claimsOf();
  policies = [];
  reads = 0;
});

/** Whether the caller may read variables at these paths of a namespace. */
async function mayRead(namespace: string, ...paths: string[]): Promise<boolean[]> {
  const access = new RequestAccess(await callers().of(TOKEN), anybody, namespace, () => Promise.resolve([]));
  return paths.map((path) => access.has({ kind: 'variable', capability: 'read' }, { namespace, path }));
}

describe('the caller of a workload identity', () => {
  it('AU-176: without policies it may do nothing but read its own variables, and is never management (OP-137)', async () => {
    const { acl, actor, workload } = await callers().of(TOKEN);
    expect([acl.isManagement(), acl.allowsNamespace('default', 'read-job')]).toEqual([false, false]);
    expect(actor.ID).toBe(`alloc:${stored.ID}`);
    expect(workload).toMatchObject({ namespace: 'default', jobId: 'app', group: 'web', task: TASK });
    const own = ['nomad/jobs', 'nomad/jobs/app', 'nomad/jobs/app/web', `nomad/jobs/app/web/${TASK}`];
    expect(await mayRead('default', ...own)).toEqual([true, true, true, true]);
    expect(await mayRead('other', ...own)).toEqual([false, false, false, false]);
    const others = ['nomad/jobs/app-2', 'nomad/jobs/ap', 'nomad/jobs/app/api', 'nomad/jobs/app/web/other', 'app/db'];
    expect(await mayRead('default', ...others)).toEqual(others.map(() => false));
  });

  it('AU-176, AU-330, OP-138: policies are compared as equal text, with group and task where they are named', async () => {
    policies = [
      policyOf('namespace', jobAcl('')),
      policyOf('job', jobAcl('app')),
      policyOf('task', jobAcl('app', 'web', TASK)),
      policyOf('prefix', jobAcl('app-2')),
      policyOf('shorter', jobAcl('ap')),
      policyOf('group', jobAcl('app', 'api')),
      policyOf('none', null),
    ];
    const caller = await callers().of(TOKEN);
    expect(policyNamesOf(caller)).toEqual(['namespace', 'job', 'task']);
    expect(caller.acl.allowsNamespace('default', 'read-job')).toBe(true);
    expect(caller.acl.allowsNamespace('default', 'submit-job')).toBe(false);
  });

  it('AU-330: a dispatched child reads what is its parent’s', async () => {
    stored = alloc({ Job: { ...job, ID: 'app/dispatch-1', ParentID: 'app' }, JobID: 'app/dispatch-1' });
    claims = claimsOf({ nomad_allocation_id: stored.ID });
    expect(await mayRead('default', 'nomad/jobs/app', 'nomad/jobs/app/dispatch-1')).toEqual([true, false]);
  });

  it('AU-173: a service identity has no task of its own', async () => {
    claims = claimsOf({ nomad_task: undefined, nomad_service: 'web-svc' });
    expect(await mayRead('default', 'nomad/jobs/app/web', `nomad/jobs/app/web/${TASK}`, 'nomad/jobs/app/web/')).toEqual(
      [true, false, false],
    );
  });

  it.each<[string, () => void]>([
    ['AU-172: for another audience', () => (claims = claimsOf({ aud: ['aws', 'vault.io'] }))],
    ['AU-172: for nobody', () => (claims = claimsOf({ aud: undefined }))],
    ['AU-173: of another namespace', () => (claims = claimsOf({ nomad_namespace: 'other' }))],
    ['AU-173: of another job', () => (claims = claimsOf({ nomad_job_id: 'app-2' }))],
    ['AU-173: of a task that its group does not have', () => (claims = claimsOf({ nomad_task: 'other' }))],
    ['AU-171: of an unknown allocation', () => (claims = claimsOf({ nomad_allocation_id: 'gone' }))],
    ['AU-175: of a node', () => (claims = { aud: 'nomadproject.io', nomad_node_id: 'n', nomad_node_pool: 'default' })],
    ['AU-175: an introduction', () => (claims = { aud: 'nomadproject.io', nomad_node_name: '', nomad_node_pool: 'x' })],
    ['AU-171: of no kind', () => (claims = { aud: 'nomadproject.io' })],
    ['AU-171: of two kinds', () => (claims = claimsOf({ nomad_service: 'web' }))],
    ['AU-173: with members that are no text', () => (claims = claimsOf({ nomad_job_id: { toString: 'app' } }))],
  ])('is refused: %s', async (_why, change) => {
    change();
    await expect(callers().of(TOKEN)).rejects.toMatchObject({ code: 'forbidden', message: 'Permission denied' });
  });

  it('AU-174: what no key of this cluster signed is refused without a look at anything', async () => {
    for (const token of ['a.b.c', '..', 'eyJhbGciOiJub25lIn0.e30.'])
      await expect(callers().of(token)).rejects.toMatchObject({ because: 'unknown', code: 'forbidden' });
    expect(reads).toBe(0);
  });

  it('AU-177: is refused from the moment at which the allocation is over, and not while it is told to stop', async () => {
    const same = callers();
    stored = { ...stored, DesiredStatus: 'stop' };
    expect((await same.of(TOKEN)).workload?.allocId).toBe(stored.ID);
    for (const ClientStatus of ['complete', 'failed', 'lost'] as const) {
      stored = { ...stored, ClientStatus };
      await expect(same.of(TOKEN)).rejects.toMatchObject({ code: 'forbidden' });
    }
  });

  it('AU-274: the audit log names the allocation, its job and its identity, and nothing of the token', async () => {
    claims = claimsOf({ sub: `global:default:app:web:${TASK}:vault`, exp: 1_760_000_000 });
    expect(auditAuth(await callers().of(TOKEN))).toEqual({
      accessor_id: `alloc:${stored.ID}`,
      policies: [],
      namespace: 'default',
      job_id: 'app',
      group: 'web',
      task: TASK,
      identity: 'vault',
      expiration_time: '2025-10-09T08:53:20.000Z',
    });
  });
});
