import { decodeJob, FakeTime, type JobAcl, type Job, settle } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { MAX_LISTED_VARIABLES, type TaskVariablesRequest } from '@waybill/rpc';
import { draftTxn, fixtures, serviceActor, type VariableChange } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { VariableQueries } from './variable-queries.js';

const WAIT_MS = 30_000;

/** The task `main` of the job `web` in `team`. Sealed items are the text of the items. */
function setup(ofJob: Partial<Job> = {}) {
  const state = new LocalState(fixtures.aMachine());
  const time = new FakeTime(fixtures.timeNs / 1e6);
  const [node, other] = [fixtures.aNode(), fixtures.aNode()];
  for (const Node of [node, other]) fixtures.apply(state.machine, 'NodeRegister', { Node, CreateNodePool: false });
  const Key = fixtures.aRootKey({ KeyID: 'k' });
  fixtures.apply(state.machine, 'RootKeyUpsert', { Key, Rekey: false, MustExist: false });
  fixtures.apply(state.machine, 'NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
  const TaskGroups = [{ Name: 'app', Tasks: [{ Name: 'main', Driver: 'exec' }] }];
  const job = {
    ...decodeJob({ ID: 'web', Namespace: 'team', TaskGroups }, { region: 'global', submitTimeNs: 1 }),
    ...ofJob,
  };
  const alloc = fixtures.anAlloc({ NodeID: node.ID, Namespace: 'team', JobID: job.ID, Job: job, TaskGroup: 'app' });
  state.tables.allocs.replace(alloc.ID, alloc);
  const openItems = async (_: unknown, { Data }: { Data: string }) => JSON.parse(Data) as Record<string, string>;
  const queries = new VariableQueries(state, { openItems }, time);
  let requests = 0;
  const context = () => ({
    timeNs: fixtures.timeNs,
    requestId: `write-${++requests}`,
    actor: serviceActor('test'),
  });
  const write = (namespace: string, change: VariableChange) =>
    state.propose(draftTxn('VarApplyState', change, { ...context(), namespace }));
  const put = (Path: string, items: Record<string, string> = { of: Path }, namespace = 'team') =>
    write(namespace, { Op: 'set', Path, LockID: '', KeyID: 'k', Data: JSON.stringify(items) });
  const remove = (Path: string) => write('team', { Op: 'delete', Path, LockID: '' });
  const allow = (Rules: string, JobACL: JobAcl | null = { Namespace: 'team', JobID: 'web', Group: '', Task: '' }) => {
    const policy = fixtures.aPolicy({ Name: `p${++requests}`, Rules, JobACL });
    return state.propose(draftTxn('ACLPolicyUpsert', { Policies: [policy] }, context()));
  };
  const asked = (over: Partial<TaskVariablesRequest> = {}, as = node): TaskVariablesRequest => ({
    NodeID: as.ID,
    SecretID: as.SecretID,
    AllocID: alloc.ID,
    Task: 'main',
    Namespace: '',
    MinQueryIndex: 0,
    MaxQueryTimeMs: WAIT_MS,
    ...over,
  });
  const read = (Path: string, over: Partial<TaskVariablesRequest> = {}, as = node) =>
    queries.readVariable({ ...asked(over, as), Path });
  const list = (Prefix = '', over: Partial<TaskVariablesRequest> = {}) => queries.list({ ...asked(over), Prefix });
  return { state, time, other, queries, put, remove, allow, read, list };
}

describe('variables that templates read', () => {
  it('OP-137, AU-162: a task reads the paths of its job, group and itself, and no others, although its machine asks', async () => {
    const { put, read, list } = setup();
    const own = ['nomad/jobs', 'nomad/jobs/web', 'nomad/jobs/web/app', 'nomad/jobs/web/app/main'];
    const others = ['app/db', 'nomad/jobs/web-2', 'nomad/jobs/web/other', 'nomad/jobs/web/app/main/x'];
    for (const path of [...own, ...others]) await put(path);
    for (const path of own) expect(await read(path)).toMatchObject({ Items: { of: path }, IsDenied: false });
    for (const path of others) expect(await read(path)).toMatchObject({ Items: null, IsDenied: true });
    expect((await list()).Paths).toEqual(own);
    expect((await list('nomad/jobs/web/')).Paths).toEqual(own.slice(2));
    expect(await read('nomad/jobs/web', { Namespace: 'default' })).toMatchObject({ IsDenied: true });
  });

  it('OP-137, AU-330: a child of a dispatched job reads the paths of its parent', async () => {
    const { put, read } = setup({ ID: 'web/dispatch-1', ParentID: 'web' });
    await put('nomad/jobs/web');
    expect(await read('nomad/jobs/web')).toMatchObject({ Items: { of: 'nomad/jobs/web' } });
  });

  it('OP-138, AU-330: policies that name the workload give more, or take its own; those of others do not count', async () => {
    const { put, allow, read } = setup();
    const rules = (path: string, capability: string, namespace = 'team') =>
      `namespace "${namespace}" { variables { path "${path}" { capabilities = ["${capability}"] } } }`;
    for (const path of ['app/db', 'app/key', 'nomad/jobs/web']) await put(path);
    await put('shared', { a: 'b' }, 'default');
    await allow(rules('app/db', 'read'));
    await allow(rules('app/key', 'read'), { Namespace: 'team', JobID: 'web-2', Group: '', Task: '' });
    await allow(rules('app/key', 'read'), null);
    await allow(rules('shared', 'read', 'default'), { Namespace: 'team', JobID: '', Group: '', Task: '' });
    expect(await read('app/db')).toMatchObject({ Items: { of: 'app/db' } });
    expect(await read('app/key')).toMatchObject({ IsDenied: true });
    expect(await read('shared', { Namespace: 'default' })).toMatchObject({ Items: { a: 'b' } });
    await allow(rules('nomad/jobs/web', 'deny'));
    expect(await read('nomad/jobs/web')).toMatchObject({ Items: null, IsDenied: true });
  });

  it('AU-140: only the machine of the allocation may ask, and for a task that it has', async () => {
    const { other, read } = setup();
    await expect(read('nomad/jobs', {}, other)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(read('nomad/jobs', { SecretID: 'wrong' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(read('nomad/jobs', { Task: 'none' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(read('nomad/jobs', { AllocID: 'none' })).rejects.toMatchObject({ code: 'not-found' });
  });

  it('AG-292: a read waits for a change of its variable, a list for one that comes or goes', async () => {
    const { time, put, remove, read, list } = setup();
    await put('nomad/jobs/web', { a: '1' });
    const { Index } = await read('nomad/jobs/web');
    const told: unknown[] = [];
    const waits = (answer: Promise<unknown>) => void answer.then((value) => told.push(value));
    const since = { MinQueryIndex: Index };
    waits(read('nomad/jobs/web', since));
    waits(list('', since));
    await settle();
    expect(told).toEqual([]);
    await put('nomad/jobs/web', { a: '2' });
    await settle();
    expect(told).toMatchObject([{ Items: { a: '2' } }]);
    await remove('nomad/jobs/web');
    await settle();
    expect(told).toMatchObject([{ Items: { a: '2' } }, { Paths: [] }]);
    waits(read('nomad/jobs/web', { MinQueryIndex: 1_000 }));
    await time.pass(WAIT_MS);
    expect(told).toHaveLength(3);
    expect(time.pending).toBe(0);
  });

  it('AG-292: a change of another table in its namespace is no news for a list', async () => {
    const { state, time, put, list } = setup();
    await put('nomad/jobs/web');
    const { Index } = await list();
    let answered = false;
    void list('', { MinQueryIndex: Index }).then(() => (answered = true));
    await settle();
    const service = fixtures.aRegistration(fixtures.aJob({ ID: 'new', Namespace: 'team' }), {});
    const context = { timeNs: fixtures.timeNs, requestId: 'job', actor: serviceActor('test'), namespace: 'team' };
    await state.propose(draftTxn('JobRegister', service, context));
    await settle();
    expect([state.tables.jobs.has('team/new'), answered]).toEqual([true, false]);
    await time.pass(WAIT_MS);
    expect(answered).toBe(true);
  });

  it('AG-292: an answer has the index of the last change of a variable or a policy, and at least 1', async () => {
    const { state, put, allow, read } = setup();
    const index = async () => (await read('app/db')).Index;
    expect(await index()).toBe(1);
    await put('app/db');
    expect(await index()).toBe(state.appliedIndex);
    await allow('namespace "team" { variables { path "app/*" { capabilities = ["read"] } } }');
    expect(await index()).toBe(state.appliedIndex);
  });

  it('OP-138: a changed policy is news, and the end of the service answers', async () => {
    const { queries, put, allow, read } = setup();
    await put('app/db');
    const { Index } = await read('app/db');
    const waiting = read('app/db', { MinQueryIndex: Index });
    await settle();
    await allow('namespace "team" { variables { path "app/*" { capabilities = ["read"] } } }');
    expect(await waiting).toMatchObject({ Items: { of: 'app/db' }, IsDenied: false });
    const last = read('app/db', { MinQueryIndex: 1_000 });
    await settle();
    queries.stop();
    expect(await last).toMatchObject({ IsDenied: false });
  });

  it('OP-137: a list is in the order of its paths, whichever was written first, and has a limit', async () => {
    const { state, put, allow, list, queries } = setup();
    await allow('namespace "team" { variables { path "nomad/jobs/web/*" { capabilities = ["list"] } } }');
    for (const path of ['b', 'c', 'a']) await put(`nomad/jobs/web/${path}`);
    const prefix = 'nomad/jobs/web/';
    expect((await list(prefix)).Paths).toEqual(['a', 'b', 'c'].map((path) => `${prefix}${path}`));
    const [row] = [...state.tables.variables.all()];
    for (let n = 3; n < MAX_LISTED_VARIABLES; n++)
      state.tables.variables.replace(`team/${prefix}v${n}`, { ...row!, Path: `${prefix}v${n}` });
    expect((await list(prefix)).Paths).toHaveLength(MAX_LISTED_VARIABLES);
    await put(`${prefix}more`);
    await expect(list(prefix)).rejects.toThrow(`more than ${MAX_LISTED_VARIABLES} variables begin with`);
    queries.stop();
  });
});
