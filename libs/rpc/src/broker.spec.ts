import { newAllocation, type Plan } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { submitPlan } from './broker.js';

describe('the call submitPlan', () => {
  it('carries a plan in short, and the broker gets it as it was', () => {
    const placed = (n: number) =>
      newAllocation({ ...fixtures.anAlloc(), ID: `id-${n}`, NodeID: `node-${n % 3}`, Job: null });
    const NodeAllocation: Plan['NodeAllocation'] = {};
    for (let n = 0; n < 30; n++) (NodeAllocation[`node-${n % 3}`] ??= []).push(placed(n));
    const plan: Plan = fixtures.aPlan({
      EvalID: 'e1',
      EvalToken: 't1',
      Job: { Namespace: 'default', ID: 'j', Version: 0, CreateIndex: 1 },
      NodeUpdate: { 'node-9': [{ ID: 'gone', DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' }] },
      NodeAllocation,
      SnapshotIndex: 7,
    });
    const written = JSON.stringify(submitPlan.wireForm?.write({ Plan: plan }));
    expect(written.length).toBeLessThan(JSON.stringify(plan).length / 4);
    expect(submitPlan.wireForm?.read(JSON.parse(written))).toStrictEqual({ Plan: plan });
  });
});
