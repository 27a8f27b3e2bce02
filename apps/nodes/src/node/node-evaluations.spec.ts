import { nodesWriter } from './nodes-writer.js';
import { FakeTime, settle, type Allocation, type Job, type NodeStatus } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { EVALUATIONS_DUE_MS, MissingNodeEvaluations } from '../heartbeats/missing-node-evaluations.js';
import { evaluationsOfNode, NodeEvaluations } from './node-evaluations.js';
import { statusNeedsEvaluations } from './node-status.js';

const draft = <T extends TxnType>(type: T, payload: TxnPayloads[T]) =>
  draftTxn(type, payload, { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor: serviceActor('test') });

function setup() {
  const time = new FakeTime(fixtures.timeNs / 1e6);
  const state = new LocalState(fixtures.aMachine());
  const node = fixtures.aNode();
  fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const work = (job: Job, over: Partial<Allocation> = {}) => {
    const alloc = fixtures.anAlloc({ Job: job, JobID: job.ID, NodeID: node.ID, ClientStatus: 'running', ...over });
    state.tables.allocs.replace(alloc.ID, alloc);
  };
  const jobsOf = () =>
    evaluationsOfNode(state.tables, node, { nodeIndex: 7, nowNs: 1e18 }).map((e) => `${e.Namespace}/${e.JobID}`);
  return { time, state, node, work, jobsOf };
}

const job = (ID: string, over: Partial<Job> = {}): Job => fixtures.aJob({ ID, ...over });
const system = (ID: string, over: Partial<Job> = {}): Job =>
  job(ID, { Type: 'system', Datacenters: ['dc1'], NodePool: 'default', ...over });

describe('evaluations of a node', () => {
  it('EB-26, ND-97, ND-100: one per namespace and job, not per allocation', () => {
    const { work, jobsOf } = setup();
    work(job('web'));
    work(job('web'));
    work(job('web', { Namespace: 'other' }), { Namespace: 'other' });
    expect(jobsOf().toSorted()).toEqual(['default/web', 'other/web']);
  });

  it('EB-26, ND-98, ND-215, ND-216: which allocations count, by type of job', () => {
    const { work, jobsOf } = setup();
    work(job('s-stopping'), { DesiredStatus: 'stop' });
    work(job('s-failed'), { ClientStatus: 'failed' });
    work(job('s-over'), { DesiredStatus: 'stop', ClientStatus: 'complete' });
    work(job('b-runs', { Type: 'batch' }), { DesiredStatus: 'stop' });
    for (const ClientStatus of ['complete', 'failed', 'lost'] as const)
      work(job(`b-${ClientStatus}`, { Type: 'batch' }), { ClientStatus });
    work(job('sysbatch', { Type: 'sysbatch' }));
    expect(jobsOf().toSorted()).toEqual(['default/b-runs', 'default/s-failed', 'default/s-stopping']);
  });

  it('ND-99: an allocation that does not count hides no other of its job', () => {
    const { work, jobsOf } = setup();
    work(job('batch', { Type: 'batch' }), { ClientStatus: 'complete' });
    work(job('batch', { Type: 'batch' }));
    expect(jobsOf()).toEqual(['default/batch']);
  });

  it('EB-26, ND-97, ND-101: system jobs by pool and datacenter pattern, running there or not, stopped ones never', () => {
    const { state, work, jobsOf } = setup();
    const put = (j: Job) => state.tables.jobs.replace(`${j.Namespace}/${j.ID}`, j);
    put(system('here'));
    put(system('glob', { Datacenters: ['d*'] }));
    put(system('all-pools', { NodePool: 'all' }));
    put(system('elsewhere', { Datacenters: ['dc2'] }));
    put(system('other-pool', { NodePool: 'gpu' }));
    put(system('stopped', { Stop: true }));
    put(job('service'));
    work(system('elsewhere', { Datacenters: ['dc2'] }));
    expect(jobsOf().toSorted()).toEqual(['default/all-pools', 'default/glob', 'default/here']);
  });

  it('ND-97: a datacenter pattern of 200 stars takes no longer than another', () => {
    const { state, work, jobsOf } = setup();
    const many = system('many', { Datacenters: ['*a'.repeat(200), '*'.repeat(200)] });
    state.tables.jobs.replace('default/many', many);
    const before = performance.now();
    work(many);
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(jobsOf()).toEqual(['default/many']);
  });

  it('ND-102: fields; the same node and index give the same ids', () => {
    const { state, node, work } = setup();
    work(job('web', { Priority: 77 }));
    const [first] = evaluationsOfNode(state.tables, node, { nodeIndex: 7, nowNs: 123e9 });
    expect(first).toMatchObject({
      TriggeredBy: 'node-update',
      NodeID: node.ID,
      NodeModifyIndex: 7,
      Status: 'pending',
      Priority: 77,
      Type: 'service',
      CreateTime: 123e9,
      ModifyTime: 123e9,
    });
    expect(first!.ID).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(evaluationsOfNode(state.tables, node, { nodeIndex: 7, nowNs: 999e9 })[0]!.ID).toBe(first!.ID);
    expect(evaluationsOfNode(state.tables, node, { nodeIndex: 8, nowNs: 123e9 })[0]!.ID).not.toBe(first!.ID);
  });

  it('EB-26, ND-103: nothing to create is no transaction', async () => {
    const { time, state, node } = setup();
    const before = state.appliedIndex;
    expect(
      await new NodeEvaluations(
        state,
        nodesWriter(state, { clock: time, newId: fixtures.freshId, region: 'global' }),
      ).create(node, 7),
    ).toEqual({ EvalIDs: [], EvalCreateIndex: 0 });
    expect(state.appliedIndex).toBe(before);
  });

  it('ND-70, SC-14: the transitions that create evaluations', () => {
    const all: NodeStatus[] = ['initializing', 'ready', 'down', 'disconnected'];
    const creating = all.flatMap((from) =>
      all.filter((to) => statusNeedsEvaluations(from, to)).map((to) => `${from}→${to}`),
    );
    expect(creating).toEqual([
      'initializing→ready',
      'initializing→down',
      'initializing→disconnected',
      'ready→down',
      'ready→disconnected',
      'down→ready',
      'down→down',
      'down→disconnected',
      'disconnected→initializing',
      'disconnected→ready',
      'disconnected→down',
    ]);
  });
});

describe('evaluations that a crash left out', () => {
  function holder() {
    const base = setup();
    const evaluations = new NodeEvaluations(
      base.state,
      nodesWriter(base.state, { clock: base.time, newId: fixtures.freshId, region: 'global' }),
    );
    const missing = new MissingNodeEvaluations({
      state: base.state,
      evaluations,
      clock: base.time,
      timers: base.time,
      logger: silentLogger,
    });
    base.state.onApplied((applied) => missing.applied(applied));
    const down = () =>
      base.state.propose(
        draft('NodeUpdateStatus', {
          NodeID: base.node.ID,
          Status: 'down',
          UpdatedAt: base.node.StatusUpdatedAt,
          NodeEvent: null,
          IdentitySigningKeyID: '',
        }),
      );
    const evals = () => [...base.state.tables.evals.all()].filter((e) => e.TriggeredBy === 'node-update');
    return { ...base, evaluations, missing, down, evals };
  }

  it('ND-73: the holder writes those of a node transaction that has none after 5 s', async () => {
    const { time, missing, work, down, evals } = holder();
    work(job('web'));
    missing.start();
    await settle();
    await time.pass(0);
    const before = evals().length;
    const { index } = await down();
    await time.pass(EVALUATIONS_DUE_MS - 1);
    expect(evals()).toHaveLength(before);
    await time.pass(1);
    expect(evals().filter((e) => e.NodeModifyIndex === index)).toHaveLength(1);
  });

  it('ND-73: an attempt that fails does not take the place of what a later transaction needs', async () => {
    const { time, state, node } = setup();
    const asked: { readonly index: number; readonly fail: () => void }[] = [];
    const evaluations = new NodeEvaluations(
      state,
      nodesWriter(state, { clock: time, newId: fixtures.freshId, region: 'global' }),
    );
    evaluations.create = (_node, index) =>
      new Promise((_, reject) => void asked.push({ index, fail: () => reject(new Error('the log is gone')) }));
    const missing = new MissingNodeEvaluations({ state, evaluations, clock: time, timers: time, logger: silentLogger });
    state.onApplied((applied) => missing.applied(applied));
    missing.start();
    await time.pass(0);
    asked.length = 0;
    const become = async (Status: NodeStatus): Promise<number> => {
      const UpdatedAt = node.StatusUpdatedAt;
      const status = { NodeID: node.ID, Status, UpdatedAt, NodeEvent: null, IdentitySigningKeyID: '' };
      return (await state.propose(draft('NodeUpdateStatus', status))).index;
    };
    const first = await become('down');
    await time.pass(EVALUATIONS_DUE_MS);
    const second = await become('ready');
    asked[0]?.fail();
    await time.pass(2 * EVALUATIONS_DUE_MS);
    expect(asked.map(({ index }) => index)).toEqual([first, second]);
  });

  it('GC-59: of a collected node they are written at once: for system jobs, and for work that is not over', async () => {
    const { state, time, missing, node, work, evals } = holder();
    work(job('web'));
    const sum = { ...job('sum'), Type: 'batch' as const };
    const over = { ClientStatus: 'complete', DesiredStatus: 'stop' } as const;
    const ofNode = { NodeID: node.ID, Job: sum, JobID: 'sum' };
    for (const alloc of [fixtures.anAlloc({ ...ofNode, ...over })]) state.tables.allocs.replace(alloc.ID, alloc);
    const sysbatch = { ...job('tidy'), Type: 'sysbatch' as const };
    const everywhere = { ...job('everywhere'), Type: 'system' as const };
    for (const one of [sysbatch, everywhere]) state.tables.jobs.replace(`default/${one.ID}`, one);
    missing.start();
    await time.pass(0);
    const ScanIndex = state.appliedIndex;
    const { index } = await state.propose(draft('NodeBatchDeregister', { NodeIDs: [node.ID], ScanIndex }));
    await time.pass(0);
    const made = evals().filter((e) => e.NodeModifyIndex === index);
    expect(made.map((e) => e.JobID).toSorted()).toEqual(['everywhere', 'web']);
  });

  it('ND-73: who is second finds its copy skipped and answers those of the first', async () => {
    const { state, time, evaluations, missing, node, work, down, evals } = holder();
    work(job('web'));
    missing.start();
    await time.pass(0);
    const { index } = await down();
    const first = await evaluations.create(node, index);
    const second = await evaluations.create(node, index);
    expect(second).toEqual(first);
    expect(state.history.at(-1)?.verdict.kind).toBe('noop');
    await time.pass(EVALUATIONS_DUE_MS * 2);
    expect(evals().filter((e) => e.NodeModifyIndex === index)).toHaveLength(1);
  });

  it('ND-73: on taking the lease, for nodes just written and for missing nodes that still have work', async () => {
    const { time, state, missing, node, work, evals } = holder();
    work(job('web'));
    const orphan = fixtures.anAlloc({
      Job: job('orphan'),
      JobID: 'orphan',
      NodeID: 'gone-node',
      ClientStatus: 'running',
    });
    state.tables.allocs.replace(orphan.ID, orphan);
    missing.start();
    await time.pass(0);
    expect(
      evals()
        .map((e) => e.NodeID)
        .toSorted(),
    ).toEqual([node.ID, 'gone-node'].toSorted());
    missing.stop();
    missing.start();
    await time.pass(0);
    expect(evals().filter((e) => e.NodeID === node.ID)).toHaveLength(1);
  });
});
