import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { FollowUps } from './follow-ups.js';
import { ReconciliationDraft } from './reconciliation-draft.js';
import { Rollout } from './rollout.js';

it('an allocation is stopped once, by the first order, and its rewrite is dropped', () => {
  const followUps = new FollowUps(fixtures.anEval(), 0, fixtures.freshId);
  const draft = new ReconciliationDraft(followUps, new Rollout(null, null, false));
  const [alloc, other] = [fixtures.anAlloc(), fixtures.anAlloc()];
  for (const one of [alloc, other]) draft.rewrites.set(one.ID, one);
  expect([draft.isStopped(alloc), draft.followups]).toEqual([false, []]);
  for (const description of ['first', 'second']) draft.stop({ alloc, description });
  expect(draft.stops).toEqual([{ alloc, description: 'first' }]);
  expect([draft.isStopped(alloc), draft.isStopped(other)]).toEqual([true, false]);
  expect([...draft.rewrites.keys()]).toEqual([other.ID]);
});
