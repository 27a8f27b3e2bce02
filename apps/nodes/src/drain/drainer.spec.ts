import type { Allocation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { markBatches } from './drain-batches.js';
import { DEADLINE_WINDOW_MS } from './drain-deadlines.js';
import { marksOfJob } from './drain-decisions.js';
import { Draining, MINUTE, SECOND } from './draining.fixture.js';

const COMPLETE = 'Node drain complete';

/** A drainer that leads, and as many nodes as said. */
async function setup(nodes = 2) {
  const d = new Draining();
  const ids: string[] = [];
  for (let i = 0; i < nodes; i++) ids.push(await d.node());
  await d.lead();
  return { d, ids, draining: ids[0]!, other: ids[1]! };
}

/** Without a drainer: what would be marked of a job, and whether it has work to move. */
const decision = (d: Draining, job: { Namespace: string; ID: string }) => {
  const { marked, onDrainingNode } = marksOfJob(d.state.tables, job.Namespace, job.ID);
  return [marked.length, onDrainingNode];
};

interface Row {
  readonly maxParallel: number;
  readonly left: number;
  /** Of those left, marked before. */
  readonly marked?: number;
  readonly elsewhere?: number;
  /** On the other node, without health. */
  readonly starting?: number;
  readonly complete?: number;
  readonly marks: number;
}

describe('which allocations of a service job are marked', () => {
  it.each<Row>([
    { maxParallel: 1, left: 10, marks: 1 },
    { maxParallel: 2, left: 10, marks: 2 },
    { maxParallel: 10, left: 10, marks: 10 },
    { maxParallel: 1, left: 10, marked: 1, marks: 0 },
    { maxParallel: 5, left: 10, marked: 4, marks: 1 },
    { maxParallel: 1, left: 0, elsewhere: 10, marks: 0 },
    { maxParallel: 1, left: 5, starting: 5, marks: 0 },
    { maxParallel: 1, left: 1, elsewhere: 9, marks: 1 },
    { maxParallel: 1, left: 1, marked: 1, elsewhere: 9, marks: 0 },
    { maxParallel: 1, left: 0, elsewhere: 9, complete: 1, marks: 0 },
    { maxParallel: 1, left: 0, complete: 10, marks: 0 },
    { maxParallel: 2, left: 8, elsewhere: 1, complete: 1, marks: 1 },
    { maxParallel: 2, left: 1, elsewhere: 8, complete: 1, marks: 1 },
    { maxParallel: 5, left: 3, elsewhere: 5, complete: 2, marks: 3 },
    { maxParallel: 3, left: 4, elsewhere: 4, starting: 1, complete: 1, marks: 1 },
    { maxParallel: 5, left: 4, elsewhere: 3, starting: 2, complete: 1, marks: 2 },
  ])('DR-40 DR-41 DR-45: of ten, $left left, max_parallel $maxParallel: $marks marked ($#)', async (row) => {
    const d = new Draining();
    const [draining, other] = [await d.node(), await d.node()];
    const job = await d.job(10, row.maxParallel);
    const left = row.left > 0 ? await d.place(job, draining, row.left) : [];
    if (row.elsewhere) await d.place(job, other, row.elsewhere);
    if (row.starting) await d.place(job, other, row.starting, { DeploymentStatus: null });
    if (row.complete) for (const alloc of await d.place(job, draining, row.complete)) await d.report(alloc, 'complete');
    for (const batch of markBatches(d.state.tables, left.slice(0, row.marked ?? 0), { nowMs: 0, newId: () => 'e' }))
      await d.write('AllocUpdateDesiredTransition', batch);
    await d.drain(draining);
    expect(decision(d, job)).toEqual([row.marks, row.left > 0]);
  });

  it('DR-41: an unhealthy replacement does not hold the drain up', async () => {
    const { d, draining, other } = await setup();
    const job = await d.job(2);
    await d.place(job, draining, 1);
    const [replacement] = await d.place(job, other, 1, { DeploymentStatus: null });
    await d.drain(draining);
    await d.time.pass(5 * SECOND);
    expect(d.marked()).toHaveLength(0);
    await d.report(replacement!, 'running', false);
    await d.time.pass(2 * SECOND);
    expect(d.marked()).toHaveLength(1);
  });

  for (const status of ['down', 'disconnected'] as const)
    it(`DR-22: a node that is ${status} stays tracked, and is done when its work is lost`, async () => {
      const { d, draining } = await setup();
      const [alloc] = await d.place(await d.job(1), draining);
      await d.drain(draining);
      const change = { NodeID: draining, Status: status, UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' };
      await d.write('NodeUpdateStatus', change);
      await d.time.pass(MINUTE);
      expect([d.drainer.stats()['drainingNodes'], d.stored(draining).DrainStrategy === null]).toEqual([1, false]);
      const lost = {
        ID: alloc!.ID,
        DesiredDescription: '',
        ClientStatus: 'lost',
        FollowupEvalID: '',
        AppendStates: [],
      } as const;
      await d.write('ApplyPlanResults', fixtures.aPlanResult({ AllocsStopped: [lost], EvalID: d.drainEvals()[0]!.ID }));
      await d.time.pass(2 * SECOND);
      expect(d.messages(draining).at(-1)).toBe(COMPLETE);
    });

  it('DR-21: only a change of the strategy is an update of the drain; other changes of the node are none', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(1), draining);
    await d.drain(draining, 10 * MINUTE * 1e6);
    await d.time.pass(5 * MINUTE);
    const change = {
      NodeID: draining,
      Status: 'ready',
      UpdatedAt: 1,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    } as const;
    await d.write('NodeUpdateStatus', change);
    await d.time.pass(5 * MINUTE + DEADLINE_WINDOW_MS);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE); // the deadline stood where it was

    const other = await d.node();
    await d.place(await d.job(1), other);
    await d.drain(other, 10 * MINUTE * 1e6);
    await d.time.pass(5 * MINUTE);
    await d.drain(other, 10 * MINUTE * 1e6);
    await d.time.pass(5 * MINUTE + DEADLINE_WINDOW_MS);
    expect(d.stored(other).DrainStrategy).not.toBeNull();
    await d.time.pass(5 * MINUTE);
    expect(d.messages(other).at(-1)).toBe(COMPLETE);
  });

  it('DR-60: a drain that was stored by a clock an hour ahead is forced when it has had its time', async () => {
    const { d, draining } = await setup();
    const job = await d.job(1);
    await d.place(job, draining, 1, { DeploymentStatus: null });
    const hour = 60 * MINUTE;
    const strategy = {
      Deadline: 10 * MINUTE * 1e6,
      IgnoreSystemJobs: false,
      StartedAt: new Date(d.time.nowMs() + hour).toISOString(),
      ForceDeadline: new Date(d.time.nowMs() + hour + 10 * MINUTE).toISOString(),
    };
    await d.write('NodeUpdateDrain', {
      NodeID: draining,
      DrainStrategy: strategy,
      MarkEligible: false,
      NodeEvent: null,
      UpdatedAt: 1,
      Meta: {},
      UpdatedBy: '',
    } as never);
    await d.time.pass(9 * MINUTE);
    expect(d.stored(draining).DrainStrategy).not.toBeNull();
    await d.time.pass(2 * MINUTE);
    expect(d.stored(draining).DrainStrategy).toBeNull();
  });

  it('DR-44: each migration is counted once', async () => {
    const { d, draining } = await setup();
    const [alloc] = await d.place(await d.job(1), draining);
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    await d.report(alloc!, 'complete');
    await d.report(alloc!, 'complete');
    await d.time.pass(2 * SECOND);
    expect(d.drainer.stats()['drainMigrations']).toBe(1);
  });

  it('DR-46: work of a node that is gone is not on a draining node', async () => {
    const { d, draining } = await setup();
    const job = await d.job(1);
    await d.place(job, draining);
    await d.drain(draining);
    expect(decision(d, job)).toEqual([1, true]);
    await d.write('NodeDeregister', { NodeID: draining });
    expect(decision(d, job)).toEqual([0, false]);
  });

  it('DR-74: marked again, an allocation is as it was, and no other is marked for it', async () => {
    const { d, draining } = await setup();
    const job = await d.job(2);
    await d.place(job, draining, 2);
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    const before = d.marked(job).map(({ ID, DesiredTransition }) => [ID, DesiredTransition]);
    for (const batch of markBatches(d.state.tables, d.marked(job), { nowMs: 0, newId: () => fixtures.freshId() }))
      await d.write('AllocUpdateDesiredTransition', batch);
    await d.time.pass(2 * SECOND);
    expect(d.marked(job).map(({ ID, DesiredTransition }) => [ID, DesiredTransition])).toEqual(before);
    expect(before).toHaveLength(1);
  });

  it('DR-98: a group without a migrate block moves one by one', async () => {
    const { d, draining } = await setup();
    const TaskGroups = [fixtures.aGroup({ Name: 'web', Count: 3, Migrate: null })];
    const job = await d.job(3, 1, { TaskGroups });
    await d.place(job, draining, 3);
    await d.drain(draining);
    expect(decision(d, job)).toEqual([1, true]);
  });

  it('DR-42 DR-90: max_parallel counts over all draining nodes', async () => {
    const { d, ids } = await setup(3);
    const job = await d.job(9, 2);
    for (const id of ids) await d.place(job, id, 3);
    for (const id of ids) await d.drain(id);
    await d.time.pass(MINUTE);
    expect(d.marked()).toHaveLength(2);
  });

  it('DR-43 DR-48 DR-70: two jobs are independent, also of one name in two namespaces', async () => {
    const { d, draining } = await setup();
    d.state.tables.namespaces.replace('team', fixtures.aNamespace({ Name: 'team' }));
    const first = await d.job(4, 2);
    const jobs = [first, await d.job(4, 1), await d.job(4, 3, { ID: first.ID, Namespace: 'team' })];
    for (const job of jobs) await d.place(job, draining, 4);
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    expect(jobs.map((job) => d.marked(job).length)).toEqual([2, 1, 3]);
    expect(d.drainEvals()).toMatchObject(
      jobs.map((job) => ({ JobID: job.ID, Namespace: job.Namespace, Type: 'service', Status: 'pending' })),
    );
  });

  it('DR-96: a lowered count frees what it no longer needs, at once', async () => {
    const { d, draining } = await setup();
    const job = await d.job(4, 1);
    await d.place(job, draining, 4);
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    expect(d.marked()).toHaveLength(1);
    await d.job(0, 1, { ID: job.ID });
    await d.time.pass(2 * SECOND);
    expect(d.marked()).toHaveLength(4);
  });
});

describe('the drainer', () => {
  it('the longer scenario of section 15: six, six and four of two jobs', async () => {
    const { d, draining, other } = await setup();
    const jobs = [await d.job(8, 3), await d.job(8, 3)];
    for (const job of jobs) await d.place(job, draining, 8);
    await d.drain(draining);
    const replaced = new Set<string>();
    for (const round of [6, 6, 4]) {
      await d.time.pass(2 * SECOND);
      const fresh = d.marked().filter((alloc) => !replaced.has(alloc.ID));
      expect(fresh).toHaveLength(round);
      const replacements: Allocation[] = [];
      for (const alloc of fresh) {
        replaced.add(alloc.ID);
        await d.report(alloc, 'complete');
        replacements.push(...(await d.place(alloc.Job!, other, 1, { DeploymentStatus: null })));
      }
      await d.time.pass(10 * SECOND);
      expect(d.marked()).toHaveLength(replaced.size); // nothing more before their health
      for (const alloc of replacements) await d.report(alloc, 'running', true);
    }
    await d.time.pass(2 * SECOND);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
    expect(d.drainer.stats()).toMatchObject({ drainingNodes: 0, drainingJobs: 0, drainMigrations: 16, drainMarks: 16 });
    expect(d.drainer.stats()).toMatchObject({ drainsCompleted: 1 });
    expect(d.time.pending).toBe(0);
  });

  it('DR-25 DR-35 DR-81: a node without work completes at once, stays ineligible, and says so without details', async () => {
    const { d, draining } = await setup();
    await d.drain(draining);
    await d.time.pass(SECOND);
    expect(d.messages(draining)).toEqual(['Node registered', 'Node drain strategy set', COMPLETE]);
    expect(d.stored(draining)).toMatchObject({
      DrainStrategy: null,
      SchedulingEligibility: 'ineligible',
      LastDrain: { Status: 'complete', AccessorID: 'token:acls-disabled' },
    });
    expect(d.stored(draining).Events.at(-1)).toMatchObject({ Subsystem: 'Drain', Details: null });
  });

  it('DR-30 DR-36 DR-91: what is stopped but still runs keeps the drain open until it ends', async () => {
    const { d, draining } = await setup();
    const job = await d.job(1);
    const [alloc] = await d.place(job, draining, 1, { DesiredStatus: 'stop' });
    await d.drain(draining);
    await d.time.pass(10 * MINUTE);
    expect(d.stored(draining).DrainStrategy).not.toBeNull();
    await d.report(alloc!, 'complete');
    await d.time.pass(2 * SECOND);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it('DR-31 DR-33 DR-52: system work is marked when all else has ended, before the completion', async () => {
    const { d, draining } = await setup();
    const [service, system] = [await d.job(1), await d.job(1, 1, { Type: 'system' })];
    const [alloc] = await d.place(service, draining);
    await d.place(system, draining);
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    expect([d.marked(service).length, d.marked(system).length]).toEqual([1, 0]);
    const before = d.state.appliedIndex;
    await d.report(alloc!, 'complete');
    await d.time.pass(2 * SECOND);
    expect(d.marked(system)).toHaveLength(1);
    expect(d.writtenSince(before).slice(1)).toEqual(['AllocUpdateDesiredTransition', 'BatchNodeUpdateDrain']);
  });

  it('DR-71: what changes while marks are gathered does not make them late', async () => {
    const d = new Draining();
    const draining = await d.node();
    await d.lead();
    const [alloc] = await d.place(await d.job(1), draining);
    await d.drain(draining);
    await d.time.pass(600);
    await d.report(alloc!, 'running', true);
    await d.time.pass(399);
    expect(d.marked()).toHaveLength(0);
    await d.time.pass(1);
    expect(d.marked()).toHaveLength(1);
  });

  it('DR-64: a drain that loses its deadline is not forced at it', async () => {
    const d = new Draining();
    const draining = await d.node();
    await d.lead();
    const job = await d.job(1);
    await d.place(job, draining);
    await d.drain(draining, 10 * MINUTE * 1e6);
    expect(d.drainer.stats()['drainDeadlines']).toBe(1);
    await d.drain(draining, 0);
    expect(d.drainer.stats()['drainDeadlines']).toBe(0);
  });

  it('DR-34: ignored system work keeps running', async () => {
    const { d, draining } = await setup();
    const system = await d.job(1, 1, { Type: 'system' });
    await d.place(system, draining);
    await d.drain(draining, -1, true);
    await d.time.pass(0);
    expect(d.marked(system)).toHaveLength(0);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it.each(['batch', 'sysbatch'])('DR-32 DR-50 DR-51 DR-60: %s work may end until the deadline', async (Type) => {
    const { d, draining } = await setup();
    const job = await d.job(2, 1, { Type });
    const [ended] = await d.place(job, draining, 2);
    await d.drain(draining, 10 * MINUTE * 1e6);
    await d.report(ended!, 'complete');
    await d.time.pass(10 * MINUTE - 1);
    expect(d.marked()).toHaveLength(0);
    await d.time.pass(1);
    expect(d.marked()).toMatchObject([{ DesiredTransition: { Migrate: true, MigrateDisablePlacement: true } }]);
    expect(d.stored(draining).Events.at(-1)).toMatchObject({
      Message: COMPLETE,
      Details: { deadline_reached: 'true' },
    });
  });

  it('DR-53 DR-54: without a deadline batch work keeps the drain open; changed to force it ends at once', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(1, 1, { Type: 'batch' }), draining);
    await d.drain(draining, 0);
    await d.time.pass(1_000 * MINUTE);
    expect(d.marked()).toHaveLength(0);
    await d.drain(draining, -1);
    await d.time.pass(0);
    expect(d.marked()).toHaveLength(1);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it('DR-60 DR-61 DR-63: force marks everything, whatever max_parallel says, and completes without waiting', async () => {
    const { d, draining, other } = await setup();
    const job = await d.job(10);
    for (const id of [draining, other]) await d.place(job, id, 5);
    for (const id of [draining, other]) await d.drain(id, -1);
    await d.time.pass(0);
    expect(d.marked()).toHaveLength(10);
    for (const id of [draining, other])
      expect(d.stored(id).Events.at(-1)).toMatchObject({ Message: COMPLETE, Details: { deadline_reached: 'true' } });
  });

  it('DR-62: deadlines close to each other fire together, at the latest of them, never early', async () => {
    const { d, ids } = await setup(3);
    const job = await d.job(3, 1, { Type: 'batch' });
    for (const id of ids) await d.place(job, id);
    const offsets = [0, DEADLINE_WINDOW_MS, DEADLINE_WINDOW_MS + 1];
    for (const [i, id] of ids.entries()) await d.drain(id, (MINUTE + offsets[i]!) * 1e6);
    const drains = () => ids.map((id) => d.stored(id).DrainStrategy !== null);
    await d.time.pass(MINUTE + DEADLINE_WINDOW_MS - 1);
    expect(drains()).toEqual([true, true, true]);
    await d.time.pass(1);
    expect(drains()).toEqual([false, false, true]);
    await d.time.pass(1);
    expect(drains()).toEqual([false, false, false]);
  });

  it('DR-60 DR-62: a deadline fires whatever the digits of its instant', async () => {
    const { d, ids } = await setup(100);
    const job = await d.job(100, 1, { Type: 'batch' });
    for (const id of ids) await d.place(job, id);
    for (const id of ids) {
      await d.time.pass(1);
      await d.drain(id, MINUTE * 1e6);
    }
    await d.time.pass(MINUTE);
    expect(ids.filter((id) => d.stored(id).DrainStrategy !== null)).toEqual([]);
  });

  it('DR-64 DR-23 DR-93 DR-100: canceled, nothing more is marked and the old deadline does not fire', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(4), draining, 4);
    await d.drain(draining, 10 * MINUTE * 1e6);
    await d.time.pass(2 * SECOND);
    await d.cancel(draining, true);
    expect(d.marked()).toHaveLength(1); // stays marked
    await d.drain(draining, 30 * MINUTE * 1e6);
    await d.time.pass(20 * MINUTE);
    expect(d.marked()).toHaveLength(1);
    expect(d.stored(draining)).toMatchObject({ LastDrain: { Status: 'draining' } });
    await d.time.pass(10 * MINUTE);
    expect(d.marked()).toHaveLength(4);
  });

  it('DR-23: of a canceled drain nothing is kept, although nothing happens to its jobs afterwards', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(4), draining, 4);
    await d.drain(draining, 10 * MINUTE * 1e6);
    await d.time.pass(2 * SECOND);
    expect(d.drainer.stats()).toMatchObject({ drainingNodes: 1, drainingJobs: 1 });
    await d.cancel(draining, true);
    await d.time.pass(2 * SECOND);
    expect(d.drainer.stats()).toMatchObject({ drainingNodes: 0, drainingJobs: 0, drainDeadlines: 0 });
  });

  it('DR-24: a node that is purged is not written any more', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(1), draining);
    await d.drain(draining);
    await d.write('NodeDeregister', { NodeID: draining });
    const before = d.state.appliedIndex;
    await d.time.pass(200 * MINUTE);
    expect(d.writtenSince(before)).toEqual([]);
  });

  it('DR-20 DR-65 DR-92: a new holder finds drains and their deadlines in state', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(4), draining, 4);
    await d.drain(draining, 10 * MINUTE * 1e6);
    await d.time.pass(2 * SECOND);
    await d.lead();
    await d.time.pass(2 * SECOND);
    expect(d.marked()).toHaveLength(1); // the mark of its predecessor counts
    d.time.freeze(20 * MINUTE);
    await d.lead();
    await d.time.pass(0);
    expect(d.marked()).toHaveLength(4);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it('DR-37 DR-20: a deposed holder writes nothing that counts', async () => {
    const { d, draining } = await setup();
    await d.drain(draining);
    await d.write('LeaseAcquired', { Role: 'nodes', Epoch: 2, Holder: 'other' });
    await d.time.pass(5 * SECOND);
    expect(d.stored(draining).DrainStrategy).not.toBeNull();
  });

  it('DR-75: a write that fails is tried again, and the drainer goes on', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(1), draining);
    await d.drain(draining);
    d.state.failure = new Error('the log is away');
    await d.time.pass(10 * SECOND);
    d.state.failure = undefined;
    await d.time.pass(SECOND);
    expect(d.marked()).toHaveLength(1);
  });

  it('DR-75: a completion that fails is tried again, although its jobs have no more work to move', async () => {
    const { d, draining } = await setup();
    const [alloc] = await d.place(await d.job(1), draining);
    await d.drain(draining);
    await d.report(alloc!, 'complete');
    d.state.failure = new Error('the log is away');
    await d.time.pass(2 * SECOND);
    d.state.failure = undefined;
    await d.time.pass(2 * SECOND);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it('DR-102 DR-103: while its marks are on their way it marks no more, whatever happens meanwhile', async () => {
    const { d, draining } = await setup();
    const job = await d.job(6, 2);
    const allocs = await d.place(job, draining, 6);
    const propose = d.state.propose.bind(d.state);
    const held: (() => void)[] = [];
    d.state.propose = async (draft, options) => {
      if (draft.type === 'AllocUpdateDesiredTransition') await new Promise<void>((go) => held.push(go));
      return propose(draft, options);
    };
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    for (const alloc of allocs) await d.report(alloc, 'running', true);
    await d.time.pass(10 * SECOND);
    expect(held).toHaveLength(1);
    held[0]!();
    await d.time.pass(10 * SECOND);
    expect(held).toHaveLength(1);
    expect(d.marked()).toHaveLength(2);
  });

  it('DR-71: what is asked for within a second is one transaction with one evaluation per job', async () => {
    const { d, draining, other } = await setup();
    const jobs = [await d.job(4, 2), await d.job(4, 2)];
    for (const job of jobs) for (const id of [draining, other]) await d.place(job, id, 2);
    await d.drain(draining);
    await d.time.pass(500);
    await d.drain(other);
    const before = d.state.appliedIndex;
    await d.time.pass(10 * SECOND);
    expect(d.writtenSince(before)).toEqual(['AllocUpdateDesiredTransition']);
    expect(d.drainEvals().map((e) => e.JobID)).toEqual(jobs.map((job) => job.ID));
  });

  it('DR-85 DR-47: what a late plan places on a tracked node is drained as well', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(1, 1, { Type: 'batch' }), draining);
    await d.drain(draining);
    await d.time.pass(10 * SECOND);
    const late = await d.job(1);
    await d.place(late, draining);
    await d.time.pass(2 * SECOND);
    expect(d.marked(late)).toHaveLength(1);
  });

  it('DR-95: a job that is purged in the middle does not hold its node up', async () => {
    const { d, draining } = await setup();
    const job = await d.job(4);
    await d.place(job, draining, 4);
    await d.drain(draining);
    await d.time.pass(2 * SECOND);
    const purge = { JobID: job.ID, Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    await d.write('JobDeregister', purge);
    await d.time.pass(2 * SECOND);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it('DR-50: only jobs whose work is to be moved in turn are watched', async () => {
    const { d, draining } = await setup();
    const [ended] = await d.place(await d.job(1), draining);
    await d.report(ended!, 'complete');
    await d.place(await d.job(1, 1, { Type: 'batch' }), draining);
    await d.drain(draining);
    expect(d.drainer.stats()['drainingJobs']).toBe(0);
  });

  it('DR-71: a forced drain does not wait for marks that are gathered', async () => {
    const { d, draining, other } = await setup();
    await d.place(await d.job(1), draining);
    await d.drain(draining);
    await d.time.pass(500);
    await d.drain(other, -1);
    await d.time.pass(0);
    expect([d.marked().length, d.messages(other).at(-1)]).toEqual([1, COMPLETE]);
  });

  it('DR-102: a round that comes due while another one is written follows it, once', async () => {
    const { d, draining, other } = await setup();
    await d.place(await d.job(1), draining);
    const propose = d.state.propose.bind(d.state);
    let go = (): void => {};
    d.state.propose = async (draft, options) => {
      if (draft.type === 'AllocUpdateDesiredTransition') await new Promise<void>((resolve) => (go = resolve));
      return propose(draft, options);
    };
    await d.drain(draining, 0);
    await d.time.pass(2 * SECOND);
    await d.drain(other, -1);
    await d.time.pass(2 * SECOND);
    expect(d.stored(other).DrainStrategy).not.toBeNull();
    go();
    await d.time.pass(0);
    expect([d.marked().length, d.messages(other).at(-1)]).toEqual([1, COMPLETE]);
    await d.time.pass(2 * SECOND);
    expect(d.time.pending).toBe(0);
  });

  it('DR-64: a drain that is changed when its deadline has come, but before that is written, has its new time', async () => {
    const { d, draining } = await setup();
    await d.place(await d.job(1, 1, { Type: 'batch' }), draining);
    await d.drain(draining, 10 * MINUTE * 1e6);
    d.state.failure = new Error('the log is away');
    await d.time.pass(10 * MINUTE);
    d.state.failure = undefined;
    await d.drain(draining, 60 * MINUTE * 1e6);
    await d.time.pass(59 * MINUTE);
    expect([d.marked().length, d.stored(draining).DrainStrategy === null]).toEqual([0, false]);
    await d.time.pass(MINUTE);
    expect(d.messages(draining).at(-1)).toBe(COMPLETE);
  });

  it('DR-92: without the role it waits for nothing and tracks nothing', async () => {
    const { d, draining, other } = await setup();
    await d.place(await d.job(1), draining);
    await d.drain(draining);
    d.drainer.stop();
    const none = { drainingNodes: 0, drainingJobs: 0, drainDeadlines: 0 };
    expect([d.time.pending, d.drainer.stats()]).toMatchObject([0, none]);
    await d.drain(other);
    expect([d.time.pending, d.drainer.stats()]).toMatchObject([0, none]);
  });

  it('DR-44: an allocation that is deleted, or that comes as one that has ended, is no migration', async () => {
    const { d, draining } = await setup();
    const [alloc] = await d.place(await d.job(1), draining);
    await d.drain(draining);
    const ended = { ...alloc!, ClientStatus: 'complete' } as const;
    for (const change of [
      { before: ended, after: undefined },
      { before: undefined, after: ended },
      { before: ended, after: ended },
    ])
      d.drainer.applied({ changes: [{ table: 'allocs', key: alloc!.ID, ...change }] } as never);
    expect(d.drainer.stats()['drainMigrations']).toBe(0);
  });
});
