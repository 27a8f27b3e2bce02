import {} from '@waybill/model';
import { dequeue } from '@waybill/rpc';
import { Worker } from '@waybill/scheduler';
import { fixtures } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import {
  FIRST_REDELIVERY_MS,
  NACK_TIMEOUT_MS,
  NOTHING,
  acks,
  addNode,
  allEnded,
  allocs,
  commitEval,
  completes,
  counters,
  eachOnItsOwnLog,
  evalOf,
  evals,
  failing,
  held,
  holdingUp,
  jobOf,
  nacks,
  next,
  placing,
  planOf,
  plane,
  register,
  running,
  statusOf,
  stopJob,
  submits,
  time,
  until,
} from '../support/evaluation-scenario.js';

eachOnItsOwnLog();

describe('a worker that dies, is slow, or gives up', () => {
  it('F5, EB-88, EB-89, EB-240: of a worker that died while its plan waited the plan is applied; redelivery a whole timeout after the answer', async () => {
    const node = await addNode();
    await register({ TaskGroups: [fixtures.aGroup({ Count: 1 })] });
    const log = holdingUp('ApplyPlanResults');
    const first = await held();
    const answered = submits(planOf(first, { NodeAllocation: placing(node, jobOf()) }));
    await time.pass(2 * NACK_TIMEOUT_MS); // the plan waits for longer than a delivery lasts
    expect(counters()).toMatchObject({ totalUnacked: 1 });
    log.letGo();
    await answered;
    expect(allocs()).toHaveLength(1);
    await time.pass(NACK_TIMEOUT_MS + FIRST_REDELIVERY_MS - 2);
    expect(await next(1)).toBeUndefined();
    await time.pass(1);
    const second = await held();
    expect(second.e.ID).toBe(first.e.ID);
    expect(second.token).not.toBe(first.token);
    await completes(second);
  });

  it('F6, EB-80, EB-241: slower than the nack timeout, its plan and its ack are refused', async () => {
    const node = await addNode();
    await register();
    const slow = await held();
    await time.pass(NACK_TIMEOUT_MS + FIRST_REDELIVERY_MS);
    const fast = await held();
    expect(fast.e.ID).toBe(slow.e.ID);
    expect(await failing(submits(planOf(slow, { NodeAllocation: placing(node, jobOf()) })))).toBe(
      'evaluation token does not match',
    );
    expect(await failing(acks(slow))).toBe('Token does not match for Evaluation ID');
    expect(allocs()).toEqual([]);
    await completes(fast);
  });

  it('F7, EB-85, EB-101, EB-103: at the delivery limit it fails, with a delayed follow-up, and its job goes on', async () => {
    const evaluation = await register();
    for (let i = 0; i < 3; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      await nacks(await held());
    }
    await until('it has failed', () => statusOf(evaluation.ID) === 'failed');
    const failed = evalOf(evaluation.ID);
    const followUp = evalOf(failed.NextEval);
    expect(failed.StatusDescription).toContain('delivery limit');
    expect(followUp).toMatchObject({ TriggeredBy: 'failed-follow-up', PreviousEval: evaluation.ID, Status: 'pending' });
    expect(followUp.Wait).toBeGreaterThanOrEqual(60e9);
    expect(followUp.Wait).toBeLessThan(360e9);
    const other = await commitEval();
    expect((await held()).e.ID).toBe(other.ID);
  });

  it('F8, EB-102: at the limit after its job was purged it has no follow-up', async () => {
    await register();
    for (let i = 0; i < 2; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      await nacks(await held());
    }
    await until('it is ready', () => counters().totalReady === 1);
    const last = await held();
    await stopJob(true);
    await nacks(last);
    await until(
      'the failed queue is empty',
      () => counters().totalUnacked === 0 && evals().every((e) => e.ID !== last.e.ID || e.Status !== 'pending'),
    );
    expect(evals().filter((e) => e.TriggeredBy === 'failed-follow-up')).toEqual([]);
  });

  it('F9: an ack at the limit is an ack like any other', async () => {
    const evaluation = await register();
    for (let i = 0; i < 2; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      await nacks(await held());
    }
    await until('it is ready', () => counters().totalReady === 1);
    await completes(await held());
    await time.pass(NACK_TIMEOUT_MS);
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(counters()).toEqual(NOTHING);
  });

  it('F10: what waits behind an evaluation at its limit is promoted only after the reaper has acked that', async () => {
    const first = await register();
    const second = await commitEval();
    const log = holdingUp('EvalUpdate');
    for (let i = 0; i < 3; i++) {
      await until('it is ready', () => counters().totalReady === 1);
      const delivery = await held();
      expect(delivery.e.ID).toBe(first.ID);
      await nacks(delivery);
    }
    await until('the reaper writes', () => log.waiting() === 1);
    expect(await next()).toBeUndefined();
    log.letGo();
    await until('it has failed', () => statusOf(first.ID) === 'failed');
    expect((await held()).e.ID).toBe(second.ID);
  });

  it('F32, EB-199: a worker far behind hands back within 5 s and asks for nothing for 50 s; others go on', async () => {
    await register({ TaskGroups: [fixtures.aGroup({ Count: 0 })] });
    const { state } = plane;
    let asked = 0;
    const behind = new Worker({
      rpc: {
        ask: (call, request, options) => {
          if (call.name === dequeue.name) asked++;
          return plane.ask(call, request, options);
        },
      },
      state: {
        tables: state.tables,
        appliedIndex: 0,
        propose: (draft) => state.propose(draft),
        onApplied: () => () => {},
        waitFor: (_index, timeoutMs) =>
          new Promise((_resolve, reject) => time.after(timeoutMs, () => reject(new Error('far behind')))),
      },
      clock: time,
      timers: time,
      newId: plane.newId,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
    });
    behind.start();
    await time.pass(5_000);
    expect(counters()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
    const before = asked;
    await time.pass(FIRST_REDELIVERY_MS);
    plane.addWorkers(1);
    await allEnded();
    expect(asked).toBe(before);
    await time.pass(50_000);
    expect(asked).toBeGreaterThan(before);
    const stopped = behind.stop();
    await time.pass(10_000);
    await stopped;
  });

  it('F37, EB-208: a worker that is stopped with an evaluation in hand has handed it back within 5 s', async () => {
    const log = holdingUp('ApplyPlanResults');
    await addNode();
    plane.addWorkers(1);
    await register();
    await until('its plan waits', () => log.waiting() === 1);
    let isStopped = false;
    const stopping = plane.stop().then(() => (isStopped = true));
    log.letGo(new Error('the log is away'));
    await time.pass(5_000);
    await stopping;
    expect(isStopped).toBe(true);
    expect(counters()).toEqual(NOTHING);
    expect(evals()[0]?.Status).toBe('pending');
    await plane.takeOver();
    plane.addWorkers(1);
    await allEnded();
    expect(running()).toHaveLength(1);
  });
});
