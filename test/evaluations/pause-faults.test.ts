import { describe, expect, it } from 'vitest';
import {
  NOTHING,
  addNode,
  allEnded,
  allocs,
  commitEval,
  counters,
  eachOnItsOwnLog,
  evals,
  failing,
  held,
  holdingUp,
  jobOf,
  next,
  pause,
  placing,
  planOf,
  plane,
  register,
  statusOf,
  submits,
  tables,
  time,
  updates,
} from '../support/evaluation-scenario.js';

eachOnItsOwnLog();

describe('pause', () => {
  it('F11, EB-114, EB-119, EB-136: everything leaves memory, the state stays; unpaused, all is back and delays keep their due time', async () => {
    const dueAt = time.nowMs() + 3_600_000;
    const delayed = await register({ ID: 'delayed' }, { WaitUntil: new Date(dueAt).toISOString() });
    await commitEval({ JobID: 'blocked', Status: 'blocked' });
    await register({ ID: 'worked-on' });
    await held();
    await commitEval({ JobID: 'worked-on' });
    await register({ ID: 'ready' });
    const before = evals();
    expect(counters()).toEqual({
      ...NOTHING,
      totalReady: 1,
      totalUnacked: 1,
      totalPending: 1,
      totalWaiting: 1,
      totalBlocked: 1,
    });
    await pause(true);
    expect(counters()).toEqual(NOTHING);
    expect(evals()).toEqual(before);
    await time.pass(60_000);
    await pause(false);
    expect(counters()).toEqual({ ...NOTHING, totalReady: 2, totalPending: 1, totalWaiting: 1, totalBlocked: 1 });
    await time.pass(dueAt - time.nowMs() - 1);
    expect(counters().totalWaiting).toBe(1);
    await time.pass(1);
    expect(counters().totalWaiting).toBe(0);
    expect(statusOf(delayed.ID)).toBe('pending');
  });

  it('F13, EB-134, EB-237, OP-254: paused while a plan waits: it is applied, its evaluation comes again, nothing is placed twice', async () => {
    const node = await addNode();
    const evaluation = await register();
    const log = holdingUp('ApplyPlanResults');
    const first = await held();
    const answered = submits(planOf(first, { NodeAllocation: placing(node, jobOf()) }));
    await time.pass(10);
    await pause(true);
    log.letGo();
    expect((await answered).AllocIndex).toBeGreaterThan(0);
    expect(await failing(updates(first, { Status: 'complete' }))).toBe('evaluation is not outstanding');
    await pause(false);
    plane.addWorkers(1);
    await allEnded();
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(allocs()).toHaveLength(1);
  });

  it('F14, EB-123, OP-26, OP-253: a hundred pauses while evaluations come, and a new holder: each one is tracked once at the end', async () => {
    for (let i = 0; i < 100; i++) {
      if (i === 50) {
        await pause(true);
        await plane.broker.stop();
        await pause(false);
        await plane.takeOver();
      }
      await Promise.all([
        pause(true),
        register({ ID: `job-${i}` }),
        pause(false),
        commitEval({ JobID: `job-${i}`, Status: 'blocked' }),
      ]);
    }
    expect([...tables().scheduler_config.all()].map((config) => config.PauseEvalBroker)).toEqual([false]);
    expect(counters()).toEqual({ ...NOTHING, totalReady: 100, totalBlocked: 100 });
    const seen = new Set<string>();
    for (let delivery = await next(); delivery; delivery = await next()) {
      expect(seen.has(delivery.e.ID)).toBe(false);
      seen.add(delivery.e.ID);
    }
    expect(seen.size).toBe(100);
  });

  it('F15, EB-115: paused when a delay runs out: nothing is counted below zero', async () => {
    await register({}, { WaitUntil: new Date(time.nowMs() + 1_000).toISOString() });
    await time.pass(999);
    time.freeze(1); // it is due, and the timer has not run
    await pause(true);
    await time.pass(10_000);
    expect(counters()).toEqual(NOTHING);
    await pause(false);
    expect(counters()).toEqual({ ...NOTHING, totalReady: 1 });
  });
});
