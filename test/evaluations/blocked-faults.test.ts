import { type Evaluation } from '@waybill/model';
import { createEval } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  FIRST_REDELIVERY_MS,
  NACK_TIMEOUT_MS,
  NOTHING,
  acks,
  addNode,
  allEnded,
  completes,
  counters,
  eachOnItsOwnLog,
  evals,
  held,
  largeGroup,
  nacks,
  next,
  placed,
  plane,
  reblocks,
  register,
  report,
  running,
  statusOf,
  tables,
  time,
  until,
  updates,
  type Held,
} from '../support/evaluation-scenario.js';

eachOnItsOwnLog();

describe('blocked evaluations', () => {
  /** A blocked evaluation that was scheduled at the present index. */
  const blocked = (over: Partial<Evaluation> = {}) =>
    fixtures.anEval({
      Status: 'blocked',
      TriggeredBy: 'queued-allocs',
      EscapedComputedClass: true,
      SnapshotIndex: plane.state.appliedIndex,
      CreateTime: time.nowMs() * 1e6,
      ...over,
    });

  it('F16, EB-159: what was unblocked between snapshot and block goes to the broker at once', async () => {
    await register();
    const delivery = await held();
    const waiting = blocked({ PreviousEval: delivery.e.ID });
    await addNode();
    await plane.ask(createEval, { Evals: [waiting], Token: delivery.token });
    await completes({ ...delivery, e: { ...delivery.e, FailedTGAllocs: { web: {} as never } } });
    expect(counters()).toMatchObject({ totalBlocked: 0 });
    expect((await held()).e.ID).toBe(waiting.ID);
  });

  it.each(['unblock first', 'block first'])(
    'F17: unblock and block at once, %s: it ends up in the broker',
    async (order) => {
      await register({ TaskGroups: [fixtures.aGroup({ Count: 0 })] });
      await completes(await held());
      const waiting = blocked();
      const writes = [() => addNode(), () => plane.write('EvalUpdate', { Evals: [waiting] })];
      if (order === 'block first') writes.reverse();
      await Promise.all(writes.map((write) => write()));
      expect(counters()).toEqual({ ...NOTHING, totalReady: 1 });
      expect((await held()).e.ID).toBe(waiting.ID);
    },
  );

  /** A blocked evaluation in the hands of a worker. */
  async function blockedInHand(): Promise<Held> {
    await register();
    await completes(await held());
    await plane.write('EvalUpdate', { Evals: [blocked()] });
    await addNode();
    return held();
  }

  it('F18, EB-92: unblocked between reblock and ack, it is ready again after the ack', async () => {
    const delivery = await blockedInHand();
    await reblocks(delivery);
    expect(counters()).toMatchObject({ totalBlocked: 1, totalUnacked: 1 });
    await addNode();
    expect(counters()).toMatchObject({ totalBlocked: 0, totalReady: 0, totalUnacked: 1 });
    await acks(delivery);
    expect((await held()).e.ID).toBe(delivery.e.ID);
  });

  it.each([false, true])(
    'F19: reblocked, then nacked (unblocked in between: %s): it comes once, never as two runs at once',
    async (unblocked) => {
      const delivery = await blockedInHand();
      await reblocks(delivery);
      if (unblocked) await addNode();
      await nacks(delivery);
      await time.pass(FIRST_REDELIVERY_MS);
      const again = await held();
      expect(again.e.ID).toBe(delivery.e.ID);
      await addNode(); // wakes what may still be tracked
      expect(await next()).toBeUndefined();
      await completes(again);
      await time.pass(NACK_TIMEOUT_MS);
      expect(await next()).toBeUndefined();
      expect(statusOf(delivery.e.ID)).toBe('complete');
    },
  );

  it.each(['newer first', 'older first'])('F20: of two blocked ones of a job the newer stays, %s', async (order) => {
    const [older, newer] = [blocked({ SnapshotIndex: 1 }), blocked({ SnapshotIndex: plane.state.appliedIndex })];
    // The order in which they are committed is the order in which the tracker meets them; the later snapshot counts.
    for (const e of order === 'newer first' ? [newer, older] : [older, newer])
      await plane.write('EvalUpdate', { Evals: [{ ...e, SnapshotIndex: e === newer ? 1_000 : 1 }] });
    await until('one is canceled', () => evals().some((e) => e.Status === 'canceled'));
    expect(statusOf(older.ID)).toBe('canceled');
    expect(statusOf(newer.ID)).toBe('blocked');
    expect(counters()).toMatchObject({ totalBlocked: 1 });
  });

  it('F21, EB-18, EB-337: when the job needs nothing any more, its blocked one is canceled and untracked, and stays so in a worker’s hands', async () => {
    const delivery = await blockedInHand();
    const waiting = blocked({ JobID: 'other' });
    await plane.write('EvalUpdate', { Evals: [waiting] });
    await plane.write('EvalUpdate', { Evals: [fixtures.anEval({ JobID: 'other', Status: 'complete' })] });
    expect(statusOf(waiting.ID)).toBe('canceled');
    expect(counters()).toMatchObject({ totalBlocked: 0 });
    await plane.write('EvalUpdate', { Evals: [fixtures.anEval({ Status: 'complete' })] });
    expect(statusOf(delivery.e.ID)).toBe('canceled');
    await updates(delivery, { Status: 'complete' });
    await acks(delivery);
    expect(statusOf(delivery.e.ID)).toBe('canceled');
  });

  it('F22, EB-181: a system job places on the node on which capacity is freed, then on the other', async () => {
    const [a, b] = [await addNode(), await addNode()];
    const [onA] = await placed(a, 1, { ID: 'in-a' });
    const [onB] = await placed(b, 1, { ID: 'in-b' });
    plane.addWorkers(1);
    await register({ ID: 'logs', Type: 'system', TaskGroups: [largeGroup(1, 'system')] });
    await allEnded();
    const ofLogs = () =>
      running()
        .filter((x) => x.JobID === 'logs')
        .map((x) => x.NodeID);
    expect(ofLogs()).toEqual([]);
    await report(onA!, 'complete');
    await until('it runs on A', () => ofLogs().length === 1);
    expect(ofLogs()).toEqual([a.ID]);
    await report(onB!, 'complete');
    await until('it runs on B', () => ofLogs().length === 2);
    expect(ofLogs()).toContain(b.ID);
  });

  it('F36: ten thousand blocked, 144 changes that could help, workers that work them off: all drain', async () => {
    const Evals = Array.from({ length: 10_000 }, (_, i) => blocked({ JobID: `gone-${i}` }));
    for (let i = 0; i < Evals.length; i += 1_000) await plane.write('EvalUpdate', { Evals: Evals.slice(i, i + 1_000) });
    expect(counters()).toMatchObject({ totalBlocked: 10_000 });
    await Promise.all(Array.from({ length: 144 }, (_, i) => addNode({ ComputedClass: `v1:${i}` })));
    await until('all are ready', () => counters().totalReady === 10_000);
    expect(counters()).toMatchObject({ totalBlocked: 0 });
    // Some find out that they cannot be placed, and wait again; then everything is helped once more.
    for (let i = 0; i < 500; i++) {
      const delivery = await held();
      await reblocks(delivery);
      await acks(delivery);
    }
    expect(counters()).toMatchObject({ totalBlocked: 500, totalReady: 9_500, totalUnacked: 0 });
    await addNode({ ComputedClass: 'v1:last' });
    await until('all are ready again', () => counters().totalReady === 10_000);
    plane.addWorkers(8);
    await until('all have ended', () => tables().evals.count('status', 'complete') === 10_000);
    expect(counters()).toEqual(NOTHING);
  }, 60_000);

  it('F41, EB-170: blocked by the restore and by the log, it is tracked once and no duplicate of itself', async () => {
    await plane.write('EvalUpdate', { Evals: [blocked()] });
    const committed = plane.state.history.at(-1)!;
    await plane.broker.stop();
    await plane.takeOver();
    plane.broker.applied(committed);
    expect(counters()).toMatchObject({ totalBlocked: 1 });
    await time.pass(10_000);
    expect(evals().map((e) => e.Status)).toEqual(['blocked']);
  });

  it('F42: redelivered while its reblock is still tracked, it reblocks: the entry is replaced, it stays blocked', async () => {
    const delivery = await blockedInHand();
    await reblocks(delivery);
    await nacks(delivery);
    await time.pass(FIRST_REDELIVERY_MS);
    const again = await held();
    await reblocks(again);
    await acks(again);
    await time.pass(10_000);
    expect(counters()).toEqual({ ...NOTHING, totalBlocked: 1 });
    expect(statusOf(delivery.e.ID)).toBe('blocked');
  });
});
