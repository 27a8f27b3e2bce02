import { describe, expect, it } from 'vitest';
import { isFullCommit, isNoopPlan, isNoopPlanResult } from './plan.js';

const nothing = { NodeUpdate: {}, NodeAllocation: {}, Deployment: null, DeploymentUpdates: [] };
const placed = { ID: 'a' } as never;

describe('plans', () => {
  it('EB-6: preemptions alone do not make a result more than a no-op; nodes to be marked do', () => {
    const result = {
      ...nothing,
      NodePreemptions: { n: [{ ID: 'a', PreemptedByAllocation: 'b' }] },
      IneligibleNodes: [],
    };
    expect(isNoopPlanResult(result)).toBe(true);
    expect(isNoopPlanResult({ ...result, IneligibleNodes: ['n'] })).toBe(false);
    expect(isNoopPlanResult({ ...result, NodeAllocation: { n: [placed] } })).toBe(false);
  });

  it('EB-7: stops, placements, a deployment or deployment updates make a plan more than a no-op', () => {
    expect(isNoopPlan(nothing)).toBe(true);
    expect(isNoopPlan({ ...nothing, NodeUpdate: { n: [] } })).toBe(true);
    expect(isNoopPlan({ ...nothing, NodeUpdate: { n: [placed] } })).toBe(false);
    expect(isNoopPlan({ ...nothing, NodeAllocation: { n: [placed] } })).toBe(false);
    expect(isNoopPlan({ ...nothing, Deployment: {} as never })).toBe(false);
    expect(isNoopPlan({ ...nothing, DeploymentUpdates: [{} as never] })).toBe(false);
  });

  it('EB-8: a commit is full when as many allocations were placed as planned, whatever else was dropped', () => {
    const plan = { NodeAllocation: { n: [placed], m: [placed] }, NodeUpdate: { n: [placed] } };
    expect(isFullCommit(plan, { NodeAllocation: { n: [placed], m: [placed] } })).toBe(true);
    expect(isFullCommit(plan, { NodeAllocation: { n: [placed] } })).toBe(false);
    expect(isFullCommit({ NodeAllocation: {} }, { NodeAllocation: {} })).toBe(true);
  });
});
