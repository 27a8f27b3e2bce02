import type { Plan, PlanResult } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { PlanQueue } from './plan-queue.js';

const planOf = (Priority: number, EvalID: string): Plan =>
  fixtures.aPlan({
    EvalID,
    Priority,
  });
const result: PlanResult = fixtures.aCommittedPlan({ AllocIndex: 7 });

describe('the plan queue', () => {
  it('EB-234: gives plans by priority, then by arrival', async () => {
    const queue = new PlanQueue();
    queue.setEnabled(true);
    const submitted = [planOf(50, 'a'), planOf(90, 'b'), planOf(50, 'c')].map((plan) => queue.submit(plan));
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      const next = await queue.dequeue();
      order.push(next!.plan.EvalID);
      next!.answer(result);
    }
    expect(order).toEqual(['b', 'a', 'c']);
    expect((await Promise.all(submitted)).map((r) => r.AllocIndex)).toEqual([7, 7, 7]);
  });

  it('EB-235: refuses while disabled', async () => {
    await expect(new PlanQueue().submit(planOf(1, 'a'))).rejects.toThrow('plan queue is disabled');
  });

  it('EB-236: disabling answers what waits, empties the queue and ends the applier', async () => {
    const queue = new PlanQueue();
    queue.setEnabled(true);
    const waiting = queue.submit(planOf(1, 'a'));
    queue.setEnabled(false);
    await expect(waiting).rejects.toThrow('plan queue flushed');
    expect(queue.depth).toBe(0);
    expect(await queue.dequeue()).toBeUndefined();
  });

  it('EB-236: an applier that waits for a plan ends too', async () => {
    const queue = new PlanQueue();
    queue.setEnabled(true);
    const taking = queue.dequeue();
    queue.setEnabled(false);
    expect(await taking).toBeUndefined();
  });
});

it('EB-236: enabling what is enabled answers nobody', async () => {
  const queue = new PlanQueue();
  queue.setEnabled(true);
  void queue.submit(fixtures.aPlan());
  queue.setEnabled(true);
  expect(queue.depth).toBe(1);
});
